"""How long a client's hint about a transaction is followed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

HintedTransaction = tuple[str, str]  # network and transaction hash


@dataclass(frozen=True, slots=True)
class HintBackoff:
    """A transaction may not have propagated: it is looked for again, ever more rarely."""

    first_pause: timedelta = timedelta(seconds=1)
    pause_max: timedelta = timedelta(seconds=30)
    ends_after: timedelta = timedelta(minutes=10)
