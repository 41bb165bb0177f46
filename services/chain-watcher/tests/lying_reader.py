"""Readers that report blocks as they are, with other movements in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from watch_factories import DEPOSIT_ADDRESS, a_deposit, a_payout, a_sweep

from swap_chains.events import BlockAdded, Movement, TokenTransfer
from swap_chains.fake import FakeChain, FakeReader

Change = Callable[[BlockAdded], tuple[Movement, ...]]


class LyingReader(FakeReader):
    def __init__(self, chain: FakeChain, change: Change, *, provider: str) -> None:
        super().__init__(chain, provider=provider)
        self.change = change

    async def follow_batches(self, **place: Any) -> Any:
        async for batch in super().follow_batches(**place):
            yield [self._lie(event) if isinstance(event, BlockAdded) else event for event in batch]

    async def movements(self, **place: Any) -> Any:
        blocks = self._chain.blocks[place["first"] : place["last"].number + 1]
        found = {added.block.number: added for added in await super().movements(**place)}
        everything = [found.get(b.number, BlockAdded(b, ())) for b in blocks]
        lies = [self._lie(replace(a, block=self._mine(a))) for a in everything]
        return [added for added in lies if added.movements]

    def _mine(self, added: BlockAdded) -> Any:
        return replace(added.block, provider=self._provider)

    def _lie(self, added: BlockAdded) -> BlockAdded:
        return replace(added, movements=self.change(added))


def adding(*made_up: Movement, at: int = 1) -> Change:
    """Return what adds to a block movements that are not there."""

    def change(added: BlockAdded) -> tuple[Movement, ...]:
        return (*added.movements, *made_up) if added.block.number == at else added.movements

    return change


def inventing(base_units: int) -> Change:
    return adding(a_deposit("invented", base_units))


paying = adding(a_payout("invented"))
sweeping = adding(a_sweep("invented", from_address=DEPOSIT_ADDRESS))


def with_another_memo(added: BlockAdded) -> tuple[Movement, ...]:
    return tuple(
        replace(m, memo=b"for another swap") if isinstance(m, TokenTransfer) else m
        for m in added.movements
    )
