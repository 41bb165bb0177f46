"""Retries of failed calls. POSTs have idempotency keys, so every call can be repeated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from swap_sdk.errors import ApiError, SwapError, Unreachable

AWAY: Final = frozenset({429, 500, 502, 503, 504})
IN_PROGRESS: Final = "IDEMPOTENCY_KEY_IN_PROGRESS"
# A retry does not help before a swap is paid, or payouts are resumed.
NOT_BY_WAITING: Final = frozenset({"TOO_MANY_PENDING_SWAPS", "PAYOUTS_PAUSED"})


@dataclass(frozen=True, slots=True)
class Retries:
    """The maximum number of attempts of a call, and the pauses in seconds."""

    attempts_max: int = 4
    first_pause: float = 0.2
    longest_pause: float = 10.0

    def pause_after(
        self, attempts: int, failure: SwapError, random: Callable[[], float]
    ) -> float | None:
        """Return the pause in seconds; None when the call is not repeated.

        :param random: between 0 and 1, so that many clients do not retry at once.
        """
        if attempts >= self.attempts_max or not _may_pass(failure):
            return None
        pause = min(self.first_pause * 2.0 ** (attempts - 1), self.longest_pause)
        requested = failure.retry_after if isinstance(failure, ApiError) else None
        if requested is None:
            return pause * (0.5 + random() / 2)
        return None if requested > self.longest_pause else max(requested, pause)


def _may_pass(failure: SwapError) -> bool:
    if isinstance(failure, Unreachable):
        return True
    if not isinstance(failure, ApiError) or failure.code in NOT_BY_WAITING:
        return False
    return failure.http_status in AWAY or failure.code == IN_PROGRESS
