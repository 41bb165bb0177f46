"""How far each network is watched, read at most a few times a second."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Final

from swap_api import observe
from swap_api.call_batching import CallBatcher
from swap_runtime.postgres.database import Engine, read_alone
from swap_runtime.postgres.sql import sql

HEADS: Final = sql("SELECT network, block_number FROM chain_watcher.progress")

FRESH_SECONDS: Final = 0.25


class WatchedHeads:
    """The watcher's published view. While it cannot be read, the last known heads stand."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._heads: Mapping[str, int] = {}
        self._read_at = float("-inf")
        self._reading: CallBatcher[None, None] = CallBatcher(self._read, batch_max=10_000)

    async def current(self) -> Mapping[str, int]:
        """Return the newest watched block of each network."""
        if monotonic() - self._read_at > FRESH_SECONDS:
            await self._reading(None)
        return self._heads

    async def _read(self, waiting: object) -> list[Exception | None]:
        assert isinstance(waiting, list)
        try:
            rows = await read_alone(self._engine, HEADS)
            self._heads = {row.network: row.block_number for row in rows}
        except Exception as error:  # confirmations that lag are better than no answer
            observe.heads_unreadable(error)
        self._read_at = monotonic()
        return [None] * len(waiting)
