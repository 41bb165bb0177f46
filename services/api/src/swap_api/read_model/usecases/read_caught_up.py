"""Reads a swap once the read model has caught up with the settler.

The settler's last decision may not be in the read model yet, although a webhook has reported it. A
read of that swap waits for it, so that a client that reads after a webhook sees that change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import chain, repeat
from time import monotonic
from typing import Final
from uuid import UUID

from swap_api import observe
from swap_api.model.keys import Caller
from swap_api.read_model.store.swaps import PostgresSwaps
from swap_api.read_model.swaps import StoredSwap
from swap_api.read_model.usecases.find_own_swap import find_own_swap
from swap_runtime.errors import Unavailable

WITHIN_SECONDS: Final = 1.0
WAITING_MAX: Final = 256
# Most changes arrive within the first ones.
PAUSES_SECONDS: Final = (0.02, 0.03, 0.05)
LAST_PAUSE_SECONDS: Final = 0.1
# A change that was late is not waited for again so soon: an operator may have to release it.
LATE_SECONDS: Final = 10.0
LATE_MAX: Final = 4096  # more than all places can find late in that time


class ReadCaughtUp:
    """Read the caller's swaps; after a second, answer what the read model has."""

    def __init__(
        self,
        swaps: PostgresSwaps,
        *,
        within_seconds: float = WITHIN_SECONDS,
        waiting_max: int = WAITING_MAX,
        now: Callable[[], float] = monotonic,
    ) -> None:
        """
        :param within_seconds: how long a read waits at most.
        :param waiting_max: how many reads may wait at once. The next are shown what is stored, so
            that a topic that is away takes no place from reads of anything else.
        :param now: seconds, since whenever.
        """
        self._swaps = swaps
        self._within_seconds = within_seconds
        self._free = waiting_max
        self._now = now
        self._late: dict[UUID, tuple[int, float]] = {}  # what did not come, and since when

    async def by_id(self, caller: Caller, swap_id: UUID) -> StoredSwap:
        """
        :raises NotFound: for an unknown id and for one of another tenant alike.
        """
        return await self._caught_up(swap_id, await find_own_swap(self._swaps, caller, swap_id))

    async def by_hash(
        self, caller: Caller, transaction_hash: str
    ) -> tuple[UUID, StoredSwap] | None:
        """Return the caller's newest swap that has the transaction."""
        found = await self._swaps.find_by_hash(caller.app_id, transaction_hash)
        return found and (found[0], await self._caught_up(*found))

    async def _caught_up(self, swap_id: UUID, stored: StoredSwap) -> StoredSwap:
        if stored.sequence >= stored.decided_sequence:
            return stored
        if self._is_late(swap_id, stored):
            observe.shown_behind("it did not come before")
            return stored
        if not self._free:
            observe.shown_behind("many wait")
            return stored
        latest = stored
        self._free -= 1
        try:
            async with asyncio.timeout(self._within_seconds):
                for pause in chain(PAUSES_SECONDS, repeat(LAST_PAUSE_SECONDS)):
                    await asyncio.sleep(pause)
                    latest = await self._swaps.find(swap_id) or latest
                    if latest.sequence >= stored.decided_sequence:
                        break
        except TimeoutError:
            observe.shown_behind("nothing came")
            self._keep_late(swap_id, stored)
        except Unavailable:  # what there is can be shown all the same
            observe.shown_behind("a look failed")
        finally:
            self._free += 1
        return latest

    def _is_late(self, swap_id: UUID, stored: StoredSwap) -> bool:
        sequence, since = self._late.get(swap_id, (0, 0.0))
        return stored.decided_sequence <= sequence and self._now() < since + LATE_SECONDS

    def _keep_late(self, swap_id: UUID, stored: StoredSwap) -> None:
        known, _ = self._late.pop(swap_id, (0, 0.0))
        if len(self._late) >= LATE_MAX:
            del self._late[next(iter(self._late))]  # the one that is late for longest
        self._late[swap_id] = max(known, stored.decided_sequence), self._now()
