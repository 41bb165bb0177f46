"""Lists the state of each signer: for operators, and for the gauge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from swap_settler.operator import observe
from swap_settler.operator.decide.signer import Signer
from swap_settler.operator.store.signers import NoncePlace, PostgresSigners
from swap_settler.records import Record


class ListSigners:
    def __init__(self, signers: PostgresSigners) -> None:
        self._signers = signers

    async def __call__(self) -> Sequence[Signer]:
        found = await self._signers.list_signers()
        halted = Counter(signer.network for signer in found if signer.halted)
        # Whichever replica's lane noticed, each shows it.
        for network in {signer.network for signer in found}:
            observe.signers_halted(network, halted[network])
        return found

    async def open_nonces(
        self, network: str, address: str, *, after: NoncePlace | None, limit: int
    ) -> Sequence[Record]:
        """Return the nonces that a signer has out, with their payments.

        :param after: only what follows this place.
        """
        return await self._signers.open_nonces(network, address, after=after, limit=limit)
