"""What admission needs: keys, tokens, counters and idempotency keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from swap_api.admission.decide.rate_limits import Count, Quota


class Counters(Protocol):
    async def add(self, quotas: Sequence[Quota]) -> Sequence[Count]:
        """Count a request in all of the quotas, or in none when it is too much for one of them.

        Never raises, and answers in bounded time.
        """
        ...
