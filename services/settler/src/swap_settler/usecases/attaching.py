"""Attaches deposits that name no swap, within the transaction that holds them and the swaps."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from uuid import UUID

from swap_contracts.swaps import DepositAttached
from swap_runtime.errors import Unprocessable
from swap_settler import observe_attaching as observe
from swap_settler.domain.attaching import NotAttachable, Proof, check
from swap_settler.domain.deposits import take
from swap_settler.domain.swap import Deposit
from swap_settler.ports import Work
from swap_settler.usecases.facts import paid_id_of
from swap_settler.usecases.folding import Folding


class Attaching:
    """What one transaction attaches. Each deposit goes to the first who proves it."""

    def __init__(
        self, folding: Folding, waiting: Mapping[UUID, Deposit], paid: Collection[UUID]
    ) -> None:
        """
        :param waiting: the deposits without a swap, their keys held.
        :param paid: those of them that went back to their owners, or are on their way.
        """
        self._folding = folding
        self._waiting = dict(waiting)
        self._paid = paid
        self._done: list[Proof] = []

    def add(self, proof: Proof, *, trace_id: str, at: datetime) -> None:
        """Attach, or note why not: nobody is left waiting for an answer to a message.

        :raises Unprocessable: when there is no such swap.
        """
        if proof.swap_id not in self._folding.swaps:
            raise Unprocessable(f"no swap {proof.swap_id}")
        try:
            self.require(proof, trace_id=trace_id, at=at)
        except NotAttachable as why:
            observe.attachment_refused(proof, str(why))

    def require(self, proof: Proof, *, trace_id: str, at: datetime) -> None:
        """
        :raises NotAttachable: when it is not the swap's to have.
        """
        deposit = self._waiting.get(proof.deposit_id)
        if deposit is None:
            raise NotAttachable("it is a swap's already")
        swap = self._folding.swaps[proof.swap_id]
        check(proof, deposit, swap, is_paid=deposit.id in self._paid)
        means = self._folding.means(swap, paid_id=paid_id_of(swap))
        self._folding.add(take(swap, deposit, since=proof.since, at=at, **means), trace_id=trace_id)
        self._done.append(proof)
        del self._waiting[deposit.id]

    async def keep(self, work: Work) -> None:
        """Keep with the deposits what proves them. After the flush."""
        for proof in self._done:
            await work.keep_attachment(proof.deposit_id, by=proof.by, because=proof.because)
            observe.attached(proof)


def proof_of(body: DepositAttached) -> Proof:
    return Proof(
        deposit_id=body.deposit_id,
        swap_id=body.swap_id,
        since=body.signed_at,
        by=body.signer,
        because=f"{body.signature} over: {body.text}",
        signer=body.signer,
    )
