"""A reader's facts one by one, as tests look at them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from swap_chains.events import Block, ChainEvent
from swap_chains.ports import ChainReader


async def follow(
    reader: ChainReader, *, after: Block, recent: Sequence[Block] = ()
) -> AsyncGenerator[ChainEvent, None]:
    async with aclosing(reader.follow_batches(after=after, recent=recent)) as batches:
        async for batch in batches:
            for event in batch:
                yield event
