"""Swaps one after the other, while a drill goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from swap_sdk import SwapError
from swap_stack.daemon import StackError
from swap_stack.demo.deliveries import read_deliveries
from swap_stack.demo.journeys import NATIVE_TO_NATIVE, TOKEN_TO_TOKEN
from swap_stack.places import Places
from swap_stack.swaps import PlannedSwap, Swaps
from swap_stack.waiting import last_problem

PAUSE_SECONDS: Final = 1.0
RETRY_SECONDS: Final = 0.3
WEBHOOK_SECONDS: Final = 90.0
JOURNEYS: Final = (NATIVE_TO_NATIVE, TOKEN_TO_TOKEN)


class Traffic:
    """Creates and pays a swap each second. What is refused for a moment is tried again."""

    def __init__(self, swaps: Swaps) -> None:
        self._swaps = swaps
        self.paid: list[PlannedSwap] = []

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Send swaps for as long as it is entered."""
        task = asyncio.create_task(self._send())
        try:
            yield
        finally:
            task.cancel()
            # An error of the traffic itself ends the drill; its own end does not.
            await asyncio.wait([task])
            if not task.cancelled() and (error := task.exception()) is not None:
                raise error

    async def _send(self) -> None:
        while True:
            number = len(self.paid)
            planned = PlannedSwap(f"swap {number}", JOURNEYS[number % len(JOURNEYS)])
            try:
                await self._swaps.create(planned)
            except SwapError:
                await asyncio.sleep(RETRY_SECONDS)  # the api restarts
                continue
            # Paid and forgotten would be a loss of the drill, not of the service.
            await asyncio.shield(self._pay(planned))
            await asyncio.sleep(PAUSE_SECONDS)

    async def _pay(self, planned: PlannedSwap) -> None:
        await self._swaps.pay(planned)
        self.paid.append(planned)

    async def until_all_ended(self) -> Mapping[str, int]:
        """Return how many swaps ended in each status.

        :raises StackError: when one takes too long.
        """
        ends: dict[str, int] = {}
        for planned in self.paid:
            status = await self._swaps.follow(planned)
            ends[status] = ends.get(status, 0) + 1
        return ends

    async def until_all_delivered(self, places: Places, stack: Mapping[str, Any]) -> None:
        """Wait until the receiver has been sent the end of every swap.

        :raises StackError: naming those whose webhook did not come.
        """
        received = places.root / stack["partners"][0]["webhook"]["received"]

        async def find_missing() -> str:
            missing = []
            for planned in self.paid:
                deliveries = await asyncio.to_thread(
                    read_deliveries, received, self._swaps.id_of(planned)
                )
                if not any(one.status == "completed" for one in deliveries):
                    missing.append(planned.name)
            return ", ".join(missing)

        missing = await last_problem(find_missing, within=WEBHOOK_SECONDS, every=RETRY_SECONDS)
        if missing:
            raise StackError(f"no webhook said how it ended: {missing}")
