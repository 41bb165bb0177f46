"""How many deliveries an endpoint may have under way at once.

Each endpoint has a separate window, which grows with successes and shrinks with failures. So a dead
or slow endpoint uses few sockets and does not delay others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

FIRST: Final = 4
FAILING: Final = 1
SLOW: Final = timedelta(seconds=2)


@dataclass(slots=True)
class _Window:
    size: int = FIRST
    under_way: int = 0
    is_closed: bool = False
    left: int = FIRST  # of the room that the last claim had; without any, more may wait

    @property
    def allowance(self) -> int:
        return 0 if self.is_closed else max(self.size - self.under_way, 0)


class Windows:
    def __init__(self, *, total_max: int, endpoint_max: int) -> None:
        self._total_max = total_max
        self._endpoint_max = endpoint_max
        self._windows: dict[UUID, _Window] = {}
        self._under_way = 0
        self._left = total_max

    @property
    def free(self) -> int:
        """Return how many deliveries may begin now, of all endpoints together."""
        return self._total_max - self._under_way

    @property
    def first(self) -> int:
        """Return how many may begin of an endpoint that is not in `allowances`."""
        return min(FIRST, self._endpoint_max)

    @property
    def _least_of_slow(self) -> int:
        """Return the window of a slow endpoint: one, where slow ones might use the whole
        capacity.
        """
        return self.first if self.free > self._total_max // 2 else FAILING

    def allowances(self) -> Mapping[UUID, int]:
        """Return how many may begin of each endpoint that something is known about."""
        self._left = self.free
        for window in self._windows.values():
            window.left = window.allowance
        return {endpoint: window.allowance for endpoint, window in self._windows.items()}

    def close(self, endpoint: UUID) -> None:
        """Let nothing begin of an endpoint that is about to be disabled."""
        self._windows.setdefault(endpoint, _Window(self.first)).is_closed = True

    def reopen(self, endpoint: UUID) -> None:
        """Undo `close`, once it is disabled: it may be enabled again one day."""
        window = self._windows.get(endpoint)
        if window is not None:
            window.is_closed = False

    def begin(self, endpoint: UUID) -> None:
        window = self._windows.setdefault(endpoint, _Window(self.first, left=self.first))
        window.under_way += 1
        window.left -= 1
        self._under_way += 1
        self._left -= 1

    def end(self, endpoint: UUID, *, is_success: bool, took: timedelta) -> bool:
        """Count one as ended, adapt the window, and return whether it is time to claim more.

        Not for each: what is claimed costs least by the half window, and the other half is on its
        way meanwhile.
        """
        window = self._windows[endpoint]
        window.under_way -= 1
        self._under_way -= 1
        if not is_success:
            window.size = max(window.size // 2, FAILING)
        elif took > SLOW:
            window.size = max(window.size // 2, self._least_of_slow)
        else:
            window.size = min(window.size + 1, self._endpoint_max)
        if window.under_way == 0 and window.size == self.first and not window.is_closed:
            del self._windows[endpoint]
        return self._left <= 0 or (window.left <= 0 and window.under_way <= window.size // 2)
