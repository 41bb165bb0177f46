"""How long a swap may be in each status that is not an end, as docs/maximum-durations.md has it.

A swap that stays longer is counted as stuck, and an alarm is raised.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from swap_domain.lifecycle import Status
from swap_settler.model.changes import NOTHING, Changes
from swap_settler.model.swap import Swap
from swap_settler.settling.decide.payouts import abandon_payment

# The watcher's blocks are behind our clock, and what was seen has to become final.
DEADLINE_GRACE: Final = timedelta(minutes=15)
# The death of a payment is proven at a final block.
PROOF_GRACE: Final = timedelta(hours=1)
TOO_LONG: Final = "nothing could be signed for it in time"


@dataclass(frozen=True, slots=True)
class Dwell:
    """What the settings say."""

    payment: timedelta  # until a waiting payment, and one in flight, is abandoned
    requote: timedelta  # without a price

    @property
    def bounds(self) -> Mapping[Status, timedelta]:
        """Return the longest time in each status; of the first, beyond the swap's deadline.

        A payment may wait for so long, and then be in flight for so long, before it is abandoned.
        """
        paid = 2 * self.payment + PROOF_GRACE
        return {
            Status.DEPOSIT_PENDING: self.requote + DEADLINE_GRACE,
            Status.PAYOUT_PENDING: paid,
            Status.REFUND_PENDING: paid,
        }


@dataclass(frozen=True, slots=True)
class StuckSwap:
    """A swap that is longer in its status than it may be."""

    swap_id: UUID
    network: str  # its source
    status: Status
    since: datetime  # of a swap without its deposit, its deadline


@dataclass(frozen=True, slots=True)
class Silences:
    """The networks that fell silent, and those that make blocks again."""

    newly_silent: frozenset[str]
    recovered: frozenset[str]


def abandon_waiting_payout(swap: Swap, intent_id: UUID, *, at: datetime) -> Changes:
    """Return the changes when a payment waited too long; none for one that was signed.

    What was signed has another end: it is mined, or cancelled in its own slot.
    """
    intent = swap.intents.get(intent_id)
    if intent is None or not intent.is_revocable or not swap.is_paid_for(intent):
        return NOTHING
    return abandon_payment(swap, intent_id, at=at, because=TOO_LONG, failures=0)
