"""Single transactions, looked up on whichever node answers; the cost does not grow with polls.

Wallets poll. Questions about one network that come meanwhile leave together, one batch at a time,
and an answer stands for a second. A network without an answering node is not queried for a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Final

import aiohttp

from swap_api import observe
from swap_api.call_batching import CallBatcher
from swap_api.funding.adapters.nodes import Nodes, open_nodes
from swap_chains.errors import ChainError
from swap_chains.evm.rpc import Rpc
from swap_chains.evm.transaction_lookup import LocatedTransaction, locate_transactions
from swap_domain.catalogue import Catalogue, Network
from swap_runtime.errors import Unavailable

NODE_SECONDS: Final = 1.5
ANSWER_SECONDS: Final = 3.0
FRESH_SECONDS: Final = 1.0
PAUSE_SECONDS: Final = 1.0  # after no node answered
BATCH_MAX: Final = 50
WAITING_MAX: Final = 500
CACHED_MAX: Final = 5_000


class EvmChainTransactions:
    def __init__(
        self,
        catalogue: Catalogue,
        nodes: Nodes,
        session: aiohttp.ClientSession,
        *,
        now: Callable[[], float] = monotonic,
    ) -> None:
        """
        :param now: seconds, since whenever.
        """
        opened = open_nodes(catalogue, nodes, session, timeout_seconds=NODE_SECONDS)
        self._lookups = {name: _NetworkLookups(rpc, now=now) for name, rpc in opened.items()}

    async def locate(self, network: Network, transaction_hash: str) -> LocatedTransaction:
        return await self._lookups[network.name].locate(transaction_hash)


class _NetworkLookups:
    def __init__(self, rpc: Rpc, *, now: Callable[[], float]) -> None:
        self._rpc = rpc
        self._now = now
        self._cached: dict[str, tuple[LocatedTransaction, float]] = {}
        self._paused_until = float("-inf")
        self._waiting = 0
        self._asking: CallBatcher[str, LocatedTransaction] = CallBatcher(
            self._ask, batch_max=BATCH_MAX
        )

    async def locate(self, transaction_hash: str) -> LocatedTransaction:
        if cached := self._fresh([transaction_hash]):
            return cached[transaction_hash]
        if self._now() < self._paused_until:
            raise Unavailable(f"no node of {self._rpc.network} answered a moment ago")
        if self._waiting >= WAITING_MAX:
            raise Unavailable(f"too many transactions of {self._rpc.network} are looked up")
        self._waiting += 1
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self._asking(transaction_hash)
        except TimeoutError:
            raise Unavailable(f"no node of {self._rpc.network} answered in time") from None
        finally:
            self._waiting -= 1

    async def _ask(self, hashes: Sequence[str]) -> Sequence[LocatedTransaction | Exception]:
        known = self._fresh(hashes)
        wanted = [one for one in dict.fromkeys(hashes) if one not in known]
        try:
            located = await locate_transactions(self._rpc, wanted) if wanted else {}
        except ChainError as error:
            observe.lookup_failed(self._rpc.network, error)
            self._paused_until = self._now() + PAUSE_SECONDS
            failed = Unavailable(str(error))
            return [known.get(one, failed) for one in hashes]
        self._cache(located)
        return [known.get(one) or located[one] for one in hashes]

    def _fresh(self, hashes: Sequence[str]) -> dict[str, LocatedTransaction]:
        oldest = self._now() - FRESH_SECONDS
        found = {one: self._cached[one] for one in hashes if one in self._cached}
        return {one: located for one, (located, at) in found.items() if at > oldest}

    def _cache(self, located: Mapping[str, LocatedTransaction]) -> None:
        now = self._now()
        for transaction_hash, one in located.items():
            self._cached.pop(transaction_hash, None)  # to the end, for the oldest goes first
            self._cached[transaction_hash] = (one, now)
        while len(self._cached) > CACHED_MAX:
            del self._cached[next(iter(self._cached))]
