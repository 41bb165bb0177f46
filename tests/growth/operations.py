"""The compared operations, each by its use case or request.

A list shows a page and counts the matches. Each list here covers the same number of swaps in both
histories. It is a window of closed swaps, or a set of the same size in both.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Final

import httpx
import psycopg
from api_factories import a_body

from tests.growth.copies import Shape
from tests.growth.world import World, copied_swap, created_at

Operation = Callable[[], Awaitable[float]]
EXPIRING: Final = 20
FIRST_NUMBER: Final = 1_000_000_000  # above the numbers of all copies
# Of the closed swaps, counted from the newest.
WINDOW: Final = (1000, 3000)
PAGES: Final[Mapping[str, Mapping[str, Any]]] = {
    "list, first page": {},
    "list, page 20": {"page": 20},
    "list, one status": {"statuses": "completed"},
    "list, one network, page 20": {"networks": "ETHEREUM_DEVNET", "page": 20},
}
RARE: Final = {"statuses": "ls_transfer_pending"}


class Operations:
    """The operations on one database; each call executes one and returns its seconds."""

    def __init__(self, world: World, shape: Shape) -> None:
        self._world = world
        self._shape = shape
        self._numbers = count(FIRST_NUMBER)
        self._positions = count(1)
        youngest, oldest = (self._created_at(shape.closed - nth) for nth in WINDOW)
        self._window = {"created_after": oldest, "created_before": youngest}

    def by_name(self) -> Mapping[str, Operation]:
        """Return every measured operation."""
        pages = {name: self._page({**self._window, **query}) for name, query in PAGES.items()}
        return {
            "create": self.create,
            "transition, one deposit": self.transition,
            f"expiry sweep, {EXPIRING} due": self.expire,
            **pages,
            "list, one status that is rare": self._page(RARE),
            "list, one recipient": self.list_of_recipient,
            "read": self.read,
        }

    async def create(self) -> float:
        number = next(self._numbers)
        began = time.perf_counter()
        answer = await self._world.api.create(self._world.app, a_body(), key=f"new-{number}")
        return _took(began, answer)

    async def transition(self) -> float:
        settler, number = self._world.settler, next(self._numbers)
        settler.now = datetime.now(UTC)
        await settler.requests(self._world.request(number))
        deposit = self._world.deposit(number)
        began = time.perf_counter()
        await settler.deposits(deposit)
        return time.perf_counter() - began

    async def expire(self) -> float:
        settler = self._world.settler
        settler.now = datetime.now(UTC)
        ended = timedelta(seconds=-1)
        numbers = [next(self._numbers) for _ in range(EXPIRING)]
        await settler.requests(*(self._world.request(n, expires_in=ended) for n in numbers))
        began = time.perf_counter()
        await settler.expire_swaps()
        return time.perf_counter() - began

    async def list_of_recipient(self) -> float:
        _, recipient = self._copy_swap()
        return await self._list({"address": recipient})

    async def read(self) -> float:
        swap_id, _ = self._copy_swap()
        began = time.perf_counter()
        answer = await self._world.api.get(self._world.app, f"/swaps/{swap_id}")
        return _took(began, answer)

    def _page(self, parameters: Mapping[str, Any]) -> Operation:
        async def list_once() -> float:
            return await self._list(parameters)

        return list_once

    async def _list(self, parameters: Mapping[str, Any]) -> float:
        began = time.perf_counter()
        answer = await self._world.api.get(self._world.app, "/swaps", params=parameters)
        return _took(began, answer)

    def _created_at(self, nth: int) -> str:
        with psycopg.connect(self._world.database.superuser_url) as connection:
            return created_at(connection, self._world.app.id, nth).isoformat()

    def _copy_swap(self) -> tuple[Any, str]:
        """Return a swap of the history, a different one each time."""
        nth = next(self._positions) * 7919 % self._shape.total
        with psycopg.connect(self._world.database.superuser_url) as connection:
            return copied_swap(connection, self._world.app.id, nth)


def _took(began: float, answer: httpx.Response) -> float:
    took = time.perf_counter() - began
    assert answer.is_success, answer.text
    return took
