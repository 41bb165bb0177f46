from __future__ import annotations

from typing import Final

from swap_api.model.keys import Caller
from swap_api.model.refusals import NotFound
from swap_api.read_model.store.heads import WatchedHeads
from swap_api.read_model.usecases.read_caught_up import ReadCaughtUp
from swap_api.swaps.adapters.history_rendering import render_located
from swap_api.swaps.adapters.rendering import JsonRendering
from swap_api.swaps.decide.transaction_hashes import is_transaction_hash
from swap_api.swaps.ports import ChainTransactions
from swap_api.swaps.store.hints import PostgresHints
from swap_chains.evm.transaction_lookup import UNKNOWN_TRANSACTION, TransactionState
from swap_domain.catalogue import Catalogue, Network
from swap_runtime.errors import Unavailable

NO_HEAD: Final = 0


class ReadTransactionStatus:
    """Read how far a transaction is: a swap's, or else what a node reports of it.

    What a node reports is public, so another tenant's transaction is answered like any other.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        read_caught_up: ReadCaughtUp,
        heads: WatchedHeads,
        rendering: JsonRendering,
        transactions: ChainTransactions,
        hints: PostgresHints,
    ) -> None:
        self._catalogue = catalogue
        self._read_caught_up = read_caught_up
        self._heads = heads
        self._rendering = rendering
        self._transactions = transactions
        self._hints = hints

    async def __call__(self, caller: Caller, network: str, transaction_id: str) -> bytes:
        """
        :param network: a name or a chain id.
        :raises NotFound: when neither a swap of the caller, nor a node, nor a hint has it.
        :raises Unavailable: when no node answers and no hint names the transaction.
        """
        known = self._catalogue.find_network(network)
        if known is None:
            raise NotFound
        of_swap = await self._of_swap(caller, known, transaction_id)
        if of_swap is not None:
            return of_swap
        is_seen = caller.environment == self._catalogue.environment
        if not is_seen or not is_transaction_hash(transaction_id):
            raise NotFound
        return await self._of_chain(caller, known, transaction_id.lower())

    async def _of_swap(self, caller: Caller, network: Network, transaction_id: str) -> bytes | None:
        found = await self._read_caught_up.by_hash(caller, transaction_id)
        if found is None:
            return None
        _, stored = found
        heads = await self._heads.current() if stored.rendered.gaps else {}
        return self._rendering.transaction(
            stored, heads, network=network.name, transaction_id=transaction_id
        )

    async def _of_chain(self, caller: Caller, network: Network, transaction_hash: str) -> bytes:
        unavailable: Unavailable | None = None
        try:
            located = await self._transactions.locate(network, transaction_hash)
        except Unavailable as error:
            located, unavailable = UNKNOWN_TRANSACTION, error
        # A hint shows that it was sent: it may not have reached a node yet.
        if located.state is TransactionState.UNKNOWN and not await self._hints.has_hint(
            caller.app_id, network.name, transaction_hash
        ):
            raise unavailable or NotFound
        heads = await self._heads.current()
        head = heads.get(network.name, NO_HEAD)
        return render_located(network, transaction_hash, located, head)
