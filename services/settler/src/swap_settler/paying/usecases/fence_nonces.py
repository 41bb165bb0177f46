"""Closes the nonces of a signer that a forgotten transaction may still be mined with."""

from __future__ import annotations

from swap_chains.ports import ChainReader
from swap_runtime.crashpoint import crashpoint
from swap_settler.paying import observe
from swap_settler.paying.store.fences import Fence, PostgresFences


class FenceNonces:
    """Hand out to nothing each nonce that a forgotten transaction may have, once per recovery.

    The lane signs a no-op for each, as for every slot without a payment. It raises the fee until a
    block has the no-op or the forgotten transaction. Payments of newer swaps get later nonces. What
    was forgotten and mined beyond the fence moves it on.
    """

    def __init__(
        self,
        fences: PostgresFences,
        *,
        chain: ChainReader,
        proofs: ChainReader,
        signer: str,
        slots_max: int,
    ) -> None:
        """
        :param proofs: what two providers report alike.
        :param slots_max: how many transactions the signer may have had in flight.
        """
        self._fences = fences
        self._chain = chain
        self._proofs = proofs
        self._signer = signer
        self._slots_max = slots_max

    async def is_awaited(self) -> bool | None:
        """Whether the chain may be ahead of the ledger; None until the database is known."""
        return await self._fences.awaits_fence()

    async def __call__(self, *, epoch: int) -> int:
        """Return how many nonces need a no-op now.

        :raises ChainError: when no node gives a usable answer.
        :raises LeaseLost: when another lane has taken over.
        """
        unfenced = await self._fences.find_unfenced()
        if unfenced is None:
            return 0
        final = await self._proofs.final_block()
        used = await self._proofs.nonce(self._signer, at=final)
        end = unfenced.end_nonce or await self._latest(used, final.number) + self._slots_max
        crashpoint("settler.before_fence")
        fence = Fence(unfenced.recovery_id, used, final, end, self._slots_max)
        opened = await self._fences.set(fence, epoch=epoch)
        crashpoint("settler.after_fence")
        observe.nonces_fenced(self._chain.network, self._signer, end, opened)
        return opened

    async def _latest(self, used: int, final_number: int) -> int:
        """Return the next nonce by the chain, with what waits in a node's pool."""
        head = await self._chain.head(at_least=final_number)
        mined = await self._chain.nonce(self._signer, at=head)
        return max(used, mined, await self._chain.pending_nonce(self._signer))
