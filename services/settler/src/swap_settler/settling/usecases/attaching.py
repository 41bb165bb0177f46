"""Attaches deposits that name no swap, within the transaction that holds them and the swaps."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from uuid import UUID

from swap_chains.evm.codec import checksum_address
from swap_chains.evm.personal_signatures import personal_digest
from swap_chains.evm.signatures import recover
from swap_contracts.swaps import DepositAttached
from swap_domain.attaching import ReceivedTransfer, SwapAddresses, text_of
from swap_domain.catalogue import Catalogue
from swap_runtime.errors import Unprocessable
from swap_settler.model.batch_state import BatchState
from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.messages.message_mapping import paid_id_of
from swap_settler.model.swap import Deposit, Swap
from swap_settler.settling import observe
from swap_settler.settling.decide.attaching import NotAttachable, Proof, check
from swap_settler.settling.decide.deposits import take
from swap_settler.settling.ports import AttachingWork


class Attaching:
    """What one transaction attaches. Each deposit goes to the first who proves it."""

    def __init__(
        self, batch_state: BatchState, waiting: Mapping[UUID, Deposit], paid: Collection[UUID]
    ) -> None:
        """
        :param waiting: the deposits without a swap, their keys held.
        :param paid: those of them that went back to their owners, or are on their way.
        """
        self._batch_state = batch_state
        self._waiting = dict(waiting)
        self._paid = paid
        self._done: list[Proof] = []

    def add(
        self, body: DepositAttached, catalogue: Catalogue, *, trace_id: str, at: datetime
    ) -> None:
        """Attach, or log why not: a message gets no answer.

        :raises Unprocessable: when there is no such swap.
        """
        swap, deposit = (
            self._batch_state.swaps.get(body.swap_id),
            self._waiting.get(body.deposit_id),
        )
        if swap is None:
            raise Unprocessable(f"no swap {body.swap_id}")
        proof = _proof_of(body)
        try:
            if deposit is not None:
                _check_signature(body, deposit, swap, catalogue)
            self.require(proof, ChangeCause.DEPOSIT_ATTACHED, trace_id=trace_id, at=at)
        except NotAttachable as why:
            observe.attachment_refused(proof, str(why))

    def require(self, proof: Proof, cause: ChangeCause, *, trace_id: str, at: datetime) -> None:
        """
        :param cause: who attaches it.
        :raises NotAttachable: when the deposit cannot belong to the swap.
        """
        deposit = self._waiting.get(proof.deposit_id)
        if deposit is None:
            raise NotAttachable("it is a swap's already")
        swap = self._batch_state.swaps[proof.swap_id]
        check(proof, deposit, swap, is_paid=deposit.id in self._paid)
        resources = self._batch_state.payout_resources(swap, paid_id=paid_id_of(swap))
        change = take(swap, deposit, since=proof.since, at=at, cause=cause, **resources)
        self._batch_state.add(change, trace_id=trace_id)
        self._done.append(proof)
        del self._waiting[deposit.id]

    async def store(self, work: AttachingWork) -> None:
        """Store the evidence with the deposits. After the flush."""
        for proof in self._done:
            await work.store_attachment(proof.deposit_id, by=proof.by, because=proof.because)
            observe.deposit_attached(proof)


def _proof_of(body: DepositAttached) -> Proof:
    how = "as the code at its address says, " if body.is_by_contract else ""
    return Proof(
        deposit_id=body.deposit_id,
        swap_id=body.swap_id,
        since=body.signed_at,
        by=body.signer,
        because=f"{how}{body.signature} over: {body.text}",
        signer=body.signer,
    )


def _check_signature(
    body: DepositAttached, deposit: Deposit, swap: Swap, catalogue: Catalogue
) -> None:
    """Check the signed text and the signing key, without trusting the api.

    The signature of a contract wallet can be checked on its chain only, which the api has done.

    :raises NotAttachable: when another text was signed, or by another key.
    """
    if body.text not in _texts(deposit, swap, catalogue):
        raise NotAttachable("the text that was signed is another")
    if body.is_by_contract:
        return
    try:
        signature = bytes.fromhex(body.signature.removeprefix("0x"))
    except ValueError:
        raise NotAttachable("the signature is none") from None
    key = recover(personal_digest(body.text), signature)
    if key is None or key.lower() != body.signer.lower():
        raise NotAttachable("another key signed")


def _texts(deposit: Deposit, swap: Swap, catalogue: Catalogue) -> tuple[str, ...]:
    """Return what may have been signed: a refund address may be set after that."""
    terms = swap.terms
    refund = None if terms.refund_address is None else checksum_address(terms.refund_address)
    destined = SwapAddresses(
        swap.id,
        source_network=terms.source.network,
        destination_network=terms.destination.network,
        destination_address=checksum_address(terms.destination_address),
        refund_address=refund,
    )
    transfer = ReceivedTransfer(
        deposit.id,
        network=deposit.network,
        transaction_hash=deposit.transaction_hash or "",
        token=deposit.token,
        base_units=deposit.base_units,
        from_address=deposit.from_address or "",
        to_address=deposit.to_address,
    )
    chain_id = catalogue.network(deposit.network).chain_id
    both = (destined, destined.without_refund_address())
    return tuple(text_of(transfer, one, chain_id=chain_id) for one in both)
