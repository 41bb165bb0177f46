from __future__ import annotations

from dataclasses import dataclass

from swap_api.model.listing import SwapFilter
from swap_api.read_model.store.heads import WatchedHeads
from swap_api.read_model.store.swaps import PostgresSwaps
from swap_api.swaps.adapters.rendering import JsonRendering


@dataclass(frozen=True, slots=True)
class RenderedPage:
    data: bytes
    total: int
    has_more: bool


class ListSwaps:
    """List an app's swaps, newest first."""

    def __init__(self, swaps: PostgresSwaps, heads: WatchedHeads, rendering: JsonRendering) -> None:
        self._swaps = swaps
        self._heads = heads
        self._rendering = rendering

    async def __call__(self, wanted: SwapFilter) -> RenderedPage:
        page = await self._swaps.list_page(wanted)
        heads = await self._heads.current() if any(s.rendered.gaps for s in page.swaps) else {}
        items = (self._rendering.prepare(s, heads, with_actions=False) for s in page.swaps)
        return RenderedPage(b"[%b]" % b",".join(items), page.total, page.has_more)
