"""Refuses a Treasury that does not have the payments of the past."""

from __future__ import annotations

from swap_chains.errors import ChainMismatch, ChainUnavailable
from swap_chains.ports import ChainReader
from swap_settler.paying.ports import LaneStore
from swap_settler.paying.usecases.lane_calls import LaneCalls


class RequireSameTreasury:
    """Ask the Treasury whether it has paid what the ledger has as paid.

    A Treasury that was deployed anew has forgotten which ids it has paid: it would pay each of them
    once more. A chain that lost its newest blocks still has older payments.
    """

    def __init__(
        self, *, chain: ChainReader, store: LaneStore, calls: LaneCalls, signer: str
    ) -> None:
        self._chain = chain
        self._store = store
        self._calls = calls
        self._signer = signer

    async def __call__(self) -> None:
        """
        :raises ChainMismatch: when it has paid nothing of what the ledger has as paid.
        :raises ChainUnavailable: when no node tells it.
        """
        ids = await self._store.paid_sample()
        if not ids:
            return
        calls = [self._calls.is_paid(paid_id) for paid_id in ids]
        answers = await self._chain.simulate(calls, sender=self._signer)
        network = self._chain.network
        if unknown := [answer.text for answer in answers if not answer.succeeded]:
            raise ChainUnavailable(network, unknown)
        if not any(int.from_bytes(answer.data, "big") for answer in answers):
            raise ChainMismatch(
                network,
                [
                    f"the Treasury {self._calls.treasury} has made none of the payments that the "
                    "ledger has, so that it would make them again: it was deployed anew, or is "
                    "another one (SWAP_SETTLER__NEW_TREASURIES lets it be used)"
                ],
            )
