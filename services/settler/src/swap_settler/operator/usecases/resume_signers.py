"""Resumes halted signers after an operator has found the cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from swap_chains.errors import ChainError
from swap_chains.ports import ChainReader
from swap_runtime.errors import RequestRefused, Unavailable
from swap_settler.operator import observe
from swap_settler.operator.decide.signer import Signer
from swap_settler.operator.store.signers import PostgresSigners
from swap_settler.operator.usecases.close_external_nonces import CloseExternalNonces


@dataclass(frozen=True, slots=True)
class ResumeResult:
    """The resumed signers, and the payments that external transactions had already made."""

    signers: Sequence[Signer]
    paid_externally: Sequence[int]  # payment ids at the Treasury; each needs an operator's decision


class ResumeSigners:
    """Clear the marks of a network's halted signers, or of one of them.

    If an external transaction used a signer's key, the signer stays halted until an operator has
    named it. The next nonces are consumed already. Payments on them could neither be made nor be
    proven dead.
    """

    def __init__(
        self,
        signers: PostgresSigners,
        *,
        chains: Mapping[str, ChainReader],
        close_external_nonces: CloseExternalNonces,
    ) -> None:
        self._signers = signers
        self._chains = chains
        self._close_external_nonces = close_external_nonces

    async def __call__(
        self,
        network: str,
        *,
        address: str | None = None,
        used_by: Sequence[str] = (),
        halts: Mapping[str, str] | None = None,
        by: str,
        reason: str,
    ) -> ResumeResult:
        """Resume the signers and return them.

        Signers that did not change stay resumed when another signer's halt changed; closed nonces
        stay closed.

        :param used_by: external transactions that consumed nonces of these signers.
        :param halts: as `halts` returned them when this was ordered; None to lift any.
        :raises RequestRefused: when none is halted, the chain contradicts the ledger, or a halt
            changed.
        :raises Unavailable: when no node reports the chain's head.
        """
        halted = await self._find_halted(network, address)
        _require_same(halted, halts)
        paid: Sequence[int] = ()
        if used_by:
            paid = await self._close_external_nonces(halted, used_by, by=by, reason=reason)
            halted = await self._find_halted(network, address)
            _require_same(halted, halts)
        for signer in halted:
            await self._require_ledger_nonce(signer)
        resumed = await self._signers.resume(halted, by=by, reason=reason)
        for signer in halted:
            if signer.address in resumed:
                observe.signer_resumed(signer, by=by, reason=reason)
        if len(resumed) < len(halted):
            raise RequestRefused("a halt changed meanwhile: list the signers again")
        return ResumeResult(halted, paid)

    async def halts(self, network: str, *, address: str | None = None) -> Mapping[str, str]:
        """Return reason and time of each halt, by the signer's address.

        :raises RequestRefused: when none is halted.
        """
        return _halts_of(await self._find_halted(network, address))

    async def _find_halted(self, network: str, address: str | None) -> Sequence[Signer]:
        halted = [
            signer
            for signer in await self._signers.list_signers()
            if signer.halted and signer.network == network and address in (None, signer.address)
        ]
        if not halted:
            raise RequestRefused(
                f"no halted signer of {network}" + (f" is {address}" if address else "")
            )
        return halted

    async def _require_ledger_nonce(self, signer: Signer) -> None:
        chain = self._chains.get(signer.network)
        if chain is None:
            raise RequestRefused(f"{signer.network} is not a network of the catalogue")
        try:
            nonce = await chain.nonce(signer.address, at=await chain.head())
        except ChainError as error:
            raise Unavailable(str(error)) from error
        if nonce > signer.next_nonce:
            raise RequestRefused(
                f"the chain is at nonce {nonce} of {signer.address}, the ledger at "
                f"{signer.next_nonce}: its key signed an external transaction; name the "
                "transactions that used it (--used-by), or name another signer to resume"
            )


def _require_same(halted: Sequence[Signer], halts: Mapping[str, str] | None) -> None:
    if halts is not None and halts != _halts_of(halted):
        raise RequestRefused(
            "the halts changed since this was ordered: list the signers, and order it again"
        )


def _halts_of(halted: Sequence[Signer]) -> Mapping[str, str]:
    # With the time: the same reason may halt a signer again.
    return {
        signer.address: f"{halt.reason} (since {halt.at and halt.at.isoformat()})"
        for signer in halted
        if (halt := signer.halted) is not None
    }
