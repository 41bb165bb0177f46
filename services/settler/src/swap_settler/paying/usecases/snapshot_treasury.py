"""The Treasury's balance at a finalized block, stored beside the ledger's."""

from __future__ import annotations

from collections.abc import Sequence

from swap_chains.ports import ChainReader, Holding
from swap_settler.paying.decide.slots import Snapshot
from swap_settler.paying.store.lane_store import PostgresLaneStore
from swap_settler.paying.store.lane_unit_of_work import PostgresLaneUnitOfWork


class SnapshotTreasury:
    """Snapshot every token of the Treasury at the last block that the ledger has passed.

    Nothing is booked: the invariants show a difference, and an operator investigates it.
    """

    def __init__(
        self,
        *,
        chain: ChainReader,
        treasury: str,
        tokens: Sequence[str],
        store: PostgresLaneStore,
        unit_of_work: PostgresLaneUnitOfWork,
    ) -> None:
        self._chain = chain
        self._holdings = [Holding(treasury, token) for token in tokens]
        self._store = store
        self._unit_of_work = unit_of_work
        self._last_number = -1

    async def __call__(self) -> None:
        """
        :raises ChainError: when no node gives a usable answer.
        """
        number = await self._store.ledger_passed()
        if number is None or number == self._last_number:
            return
        block = await self._chain.block_at(number)
        balances = await self._chain.balances(self._holdings, at=block)
        snapshots = [Snapshot(h.account, h.token, balances[h]) for h in self._holdings]
        async with self._unit_of_work() as work:
            await work.add_snapshots(snapshots, block)
        self._last_number = number
