from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from swap_api import observe
from swap_api.read_model.store.swaps import PostgresReadModel
from swap_api.swaps.adapters.rendering import JsonRendering
from swap_contracts.envelope import Envelope
from swap_contracts.swaps import SwapChanged


class StoreSwaps:
    """Save the settler's messages about swaps, one transaction per batch."""

    def __init__(self, read_model: PostgresReadModel, rendering: JsonRendering) -> None:
        self._read_model = read_model
        self._rendering = rendering

    async def __call__(self, messages: Sequence[Envelope[SwapChanged]]) -> None:
        newest: dict[UUID, SwapChanged] = {}
        for message in messages:
            swap, known = message.body, newest.get(message.body.swap_id)
            if known is None or swap.sequence > known.sequence:
                newest[swap.swap_id] = swap
        rows = [self._rendering.swap(swap) for swap in newest.values()]
        await self._read_model.apply([message.message_id for message in messages], rows)
        observe.swaps_stored(len(rows))
