"""Refuses a Treasury that does not have the payments of the past."""

from __future__ import annotations

from swap_chains.errors import ChainMismatch, NodesDiffer
from swap_chains.ports import ChainReader
from swap_settler.paying.store.lane_store import PostgresLaneStore
from swap_settler.paying.usecases.spent_ids import find_spent_ids


class RequireSameTreasury:
    """Ask the Treasury whether it has paid what the ledger has as paid.

    A newly deployed Treasury has no record of paid ids: it would pay each of them once more. A
    chain that lost its newest blocks still has older payments. One node that denies them is not
    enough: where two providers are configured, both must deny them.
    """

    def __init__(
        self, *, chain: ChainReader, proofs: ChainReader, store: PostgresLaneStore, treasury: str
    ) -> None:
        """
        :param proofs: what two providers report alike.
        """
        self._chain = chain
        self._proofs = proofs
        self._store = store
        self._treasury = treasury

    async def __call__(self) -> None:
        """
        :raises ChainMismatch: when it has paid nothing of what the ledger has as paid.
        :raises Unavailable: when a node does not answer.
        :raises ChainError: when no node gives a usable answer, or one denies all of them and too
            few providers answer.
        """
        ids = await self._store.paid_sample()
        if not ids or await find_spent_ids(self._chain, self._treasury, ids):
            return
        try:
            has_paid = bool(await find_spent_ids(self._proofs, self._treasury, ids))
        except NodesDiffer:
            return  # one of them has such payments: a newly deployed Treasury has none
        if not has_paid:
            raise ChainMismatch(
                self._chain.network,
                [
                    f"the Treasury {self._treasury} has made none of the payments that the "
                    "ledger has, so that it would make them again: it was deployed anew, or is "
                    "another one (SWAP_SETTLER__NEW_TREASURIES lets it be used)"
                ],
            )
