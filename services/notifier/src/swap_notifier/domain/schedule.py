"""When a delivery that failed is tried again."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

# After the first attempt, which is made at once.
PAUSES: Final = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=5),
    timedelta(hours=10),
    timedelta(hours=10),
)
PPM: Final = 1_000_000
# Up to a fifth later than planned, so that what failed together does not come back together.
JITTER_PPM_MAX: Final = 200_000
# A receiver may ask for more time, up to twice the plan.
RETRY_AFTER_FACTOR_MAX: Final = 2


def pause_after(
    attempts: int, *, retry_after: timedelta | None, jitter_ppm: int
) -> timedelta | None:
    """Return how long to wait after so many failed attempts; None when it was the last.

    :param retry_after: the pause that the receiver requested.
    :param jitter_ppm: between 0 and JITTER_PPM_MAX.
    """
    if attempts > len(PAUSES):
        return None
    planned = PAUSES[attempts - 1]
    pause = planned + planned * jitter_ppm // PPM
    if retry_after is None:
        return pause
    return max(pause, min(retry_after, planned * RETRY_AFTER_FACTOR_MAX))
