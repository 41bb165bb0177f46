"""The final block of a network that is followed: from two providers where there are two."""

from __future__ import annotations

import asyncio

from swap_chains.errors import ChainError, FinalBlocksDiffer
from swap_chains.events import Block
from swap_chains.evm.provider_agreement import PROVIDERS_MIN, final_block
from swap_chains.evm.rpc import Backoff, Rpc


class AgreedFinality:
    """Compares the followed node's final block with other providers', in a task of its own.

    The follower never waits for it: a slow second provider delays finality and nothing else.
    """

    def __init__(self, rpc: Rpc, news: asyncio.Event, *, pause_seconds: float) -> None:
        """
        :param news: is set when there is a result.
        """
        self._rpc = rpc
        self._news = news
        self._backoff = Backoff(pause_seconds)
        self._claimed: Block | None = None
        self._agreed: Block | None = None
        self._asking: asyncio.Task[Block] | None = None
        self._ask_at = 0.0
        self._fruitless = 0  # comparisons in a row that brought no newer block

    @property
    def needs_two(self) -> bool:
        return len(self._rpc.providers) >= PROVIDERS_MIN

    def given(self, claim: Block | None) -> Block | None:
        """Return the newest final block, given what the followed node calls final.

        :raises FinalBlocksDiffer: when two providers call different blocks of one height final.
        """
        if not self.needs_two:
            return claim
        if claim is not None and (self._claimed is None or claim.number > self._claimed.number):
            self._claimed, self._fruitless = claim, 0
        now = asyncio.get_running_loop().time()
        if self._asking is not None and self._asking.done():
            self._take(self._asking, now)
            self._asking = None
        if self._asking is None and self._is_behind and now >= self._ask_at:
            self._asking = asyncio.create_task(final_block(self._rpc))
            self._asking.add_done_callback(lambda _: self._news.set())
        return self._agreed

    async def close(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)

    @property
    def _is_behind(self) -> bool:
        if self._claimed is None:
            return False
        return self._agreed is None or self._agreed.number < self._claimed.number

    def _take(self, asked: asyncio.Task[Block], now: float) -> None:
        agreed: Block | None = None
        try:
            agreed = asked.result()
        except FinalBlocksDiffer:
            raise
        except ChainError:
            pass  # it is asked again; until then nothing newer is final
        if agreed is not None and (self._agreed is None or agreed.number > self._agreed.number):
            self._agreed, self._fruitless = agreed, 0
        else:
            self._fruitless += 1
        self._ask_at = now + self._backoff.seconds(self._fruitless)
