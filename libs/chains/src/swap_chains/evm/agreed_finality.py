"""The final block of a network that is followed: from two providers where there are two."""

from __future__ import annotations

import asyncio

from swap_chains.errors import ChainError, FinalBlocksDiffer
from swap_chains.events import Block
from swap_chains.evm.provider_agreement import PROVIDERS_MIN, final_block
from swap_chains.evm.rpc import Backoff, Rpc


class AgreedFinality:
    """Compares the followed node's final block with other providers', in a separate task.

    The follower never waits for it: a slow second provider delays finality and nothing else.
    """

    def __init__(self, rpc: Rpc, wake_event: asyncio.Event, *, pause_seconds: float) -> None:
        """
        :param wake_event: is set when there is a result.
        """
        self._rpc = rpc
        self._wake_event = wake_event
        self._backoff = Backoff(pause_seconds)
        self._claimed: Block | None = None
        self._agreed: Block | None = None
        self._comparison: asyncio.Task[Block] | None = None
        self._next_comparison_at = 0.0
        self._comparisons_without_progress = 0  # comparisons in a row that brought no newer block

    @property
    def needs_two(self) -> bool:
        return len(self._rpc.providers) >= PROVIDERS_MIN

    def update(self, claim: Block | None) -> Block | None:
        """Return the newest final block, given what the followed node calls final.

        :raises FinalBlocksDiffer: when two providers call different blocks of one height final.
        """
        if not self.needs_two:
            return claim
        if claim is not None and (self._claimed is None or claim.number > self._claimed.number):
            self._claimed, self._comparisons_without_progress = claim, 0
        now = asyncio.get_running_loop().time()
        if self._comparison is not None and self._comparison.done():
            self._apply(self._comparison, now)
            self._comparison = None
        if self._comparison is None and self._is_behind and now >= self._next_comparison_at:
            self._comparison = asyncio.create_task(final_block(self._rpc))
            self._comparison.add_done_callback(lambda _: self._wake_event.set())
        return self._agreed

    async def close(self) -> None:
        if self._comparison is not None:
            self._comparison.cancel()
            await asyncio.gather(self._comparison, return_exceptions=True)

    @property
    def _is_behind(self) -> bool:
        if self._claimed is None:
            return False
        return self._agreed is None or self._agreed.number < self._claimed.number

    def _apply(self, comparison: asyncio.Task[Block], now: float) -> None:
        agreed: Block | None = None
        try:
            agreed = comparison.result()
        except FinalBlocksDiffer:
            raise
        except ChainError:
            pass  # it is queried again; until then nothing newer is final
        if agreed is not None and (self._agreed is None or agreed.number > self._agreed.number):
            self._agreed, self._comparisons_without_progress = agreed, 0
        else:
            self._comparisons_without_progress += 1
        self._next_comparison_at = now + self._backoff.seconds(self._comparisons_without_progress)
