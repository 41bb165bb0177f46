"""Builds the lookups of the read model that several packages share."""

from __future__ import annotations

from dataclasses import dataclass

from swap_api.read_model.store.heads import WatchedHeads
from swap_api.read_model.store.swaps import PostgresSwaps
from swap_api.read_model.usecases.read_caught_up import ReadCaughtUp
from swap_runtime.postgres.database import Engine


@dataclass(frozen=True, slots=True)
class Lookups:
    """Swaps and the newest blocks."""

    swaps: PostgresSwaps
    read_caught_up: ReadCaughtUp
    heads: WatchedHeads

    @classmethod
    def of(cls, engine: Engine) -> Lookups:
        """Return the lookups of a process: calls that come together share statements."""
        swaps = PostgresSwaps(engine)
        return cls(swaps, ReadCaughtUp(swaps), WatchedHeads(engine))
