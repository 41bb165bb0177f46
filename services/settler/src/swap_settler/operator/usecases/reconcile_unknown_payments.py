"""Reconciles payments with external transactions that spent their ids at the Treasury."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from swap_chains.errors import ChainError
from swap_chains.events import Block, Paid
from swap_chains.ports import ChainReader, FoundTransaction
from swap_contracts.tracing import trace_id_of
from swap_domain.catalogue import Catalogue
from swap_runtime.clock import Clock
from swap_runtime.errors import RequestRefused, Unavailable
from swap_settler.model import observe_changes
from swap_settler.model.batch_state import BatchState, assets_of
from swap_settler.model.chain_facts import FactState, PayoutFact
from swap_settler.model.changes import Changes
from swap_settler.model.messages.message_mapping import MessageMapper, refuel_id_of
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.swap import Deposit, Intent, IntentKind, IntentState, Swap
from swap_settler.operator import observe
from swap_settler.operator.store.external_nonces import PostgresExternalNonces
from swap_settler.operator.store.external_payments import (
    ExternalPayment,
    PostgresExternalPaymentUnitOfWork,
    PostgresExternalPaymentWork,
    ReconciledEnd,
)
from swap_settler.operator.usecases.order_forgotten import OrderForgotten, save_new
from swap_settler.paying.decide.receipt_quorum import count_votes
from swap_settler.paying.decide.slots import Owners
from swap_settler.paying.usecases.spent_ids import find_spent_ids
from swap_settler.recovery.decide.recovery import PaymentId
from swap_settler.settling.decide.payouts import (
    confirm_external_payment,
    fail_spent_payment,
    is_as_ordered,
    leave_to_operators,
)
from swap_settler.settling.usecases.settle_deposits import key_of

# A failed payout is claimable by another id; these payments have only their own id.
NOTHING_WAITS: Final = (
    "none of our payments that wait has an id that it took; a forgotten one is explained once its "
    "recovery has ended"
)
CAN_FAIL: Final = (IntentKind.OUTPUT, IntentKind.REFUND, IntentKind.REFUEL)


@dataclass(frozen=True, slots=True)
class FoundPayment:
    """Who has a payment, with the log that took its id."""

    swap: Swap | None
    intent: Intent
    log: PayoutFact

    @property
    def end(self) -> ReconciledEnd:
        if is_as_ordered(self.intent, self.log):
            return ReconciledEnd.MADE
        is_recipients = self.intent.to_address == self.log.to_address
        can_fail = self.intent.kind in CAN_FAIL and not is_recipients
        return ReconciledEnd.FAILED if can_fail else ReconciledEnd.LEFT


class ReconcileUnknownPayments:
    """An operator names the transaction; the chain has to prove what it paid.

    A payment that it made as ordered is made. If the id was spent on another payment, the payment
    can never be made by that id: it fails, and its money is claimable. If its own recipient got
    another sum, or if the spent payment has no other id, operators settle it manually. No lane
    sends it.
    """

    def __init__(
        self,
        nonces: PostgresExternalNonces,
        unit_of_work: PostgresExternalPaymentUnitOfWork,
        *,
        catalogue: Catalogue,
        chains: Mapping[str, ChainReader],
        clock: Clock,
        swap_messages: SwapMessages,
    ) -> None:
        self._nonces = nonces
        self._unit_of_work = unit_of_work
        self._mapper = MessageMapper(catalogue)
        self._chains = chains
        self._clock = clock
        self._swap_messages = swap_messages
        self._order_forgotten = OrderForgotten(
            catalogue=catalogue, clock=clock, swap_messages=swap_messages
        )

    async def __call__(
        self, network: str, transaction_hash: str, *, by: str, reason: str
    ) -> Sequence[ExternalPayment]:
        """Return the payments that it ended.

        :raises RequestRefused: when the chain does not prove it, the ledger does not have it yet,
            or a payment may still be made here.
        :raises Unavailable: when no node answers.
        """
        chain = self._chains.get(network)
        if chain is None:
            raise RequestRefused(f"{network} is not a network of the catalogue")
        if await self._nonces.is_network_halted(network):
            raise RequestRefused(f"what is final on {network} is in doubt: see swapctl network")
        if await self._nonces.signed_here([transaction_hash]):
            raise RequestRefused(f"signed here, its payments end by themselves: {transaction_hash}")
        try:
            logs = await self._prove_payments(chain, transaction_hash)
        except ChainError as error:
            raise Unavailable(str(error)) from error
        changes, payments = await self._end(network, transaction_hash, logs, by=by, reason=reason)
        observe_changes.changes_committed(changes)
        for one in payments:
            observe.payment_reconciled(
                network, transaction_hash, one.intent_id, one.end.value, by=by, reason=reason
            )
        return payments

    async def _prove_payments(
        self, chain: ChainReader, transaction_hash: str
    ) -> Mapping[int, PayoutFact]:
        """Return what the transaction paid, by id, in a final block that no node denies."""
        final = await chain.final_block()
        one = (await chain.transactions([transaction_hash])).get(transaction_hash)
        if one is None or one.block_number is None or one.block_number > final.number:
            raise RequestRefused(f"{transaction_hash} is in no final block")
        block = await chain.block_at(one.block_number)
        await _require_quorum(chain, one, block)
        added = await chain.movements(first=block.number, last=block)
        moved = [m for each in added for m in each.movements if isinstance(m, Paid)]
        logs = {
            m.intent_id: _payout(chain.network, m, block)
            for m in moved
            if m.id.transaction_hash == transaction_hash
        }
        if not logs:
            raise RequestRefused(f"the Treasury has paid nothing by {transaction_hash}")
        treasury = self._mapper.treasury_of(chain.network)
        if await find_spent_ids(chain, treasury, logs, at=final) != set(logs):
            raise Unavailable(f"a node does not report the ids of {transaction_hash} as spent")
        return logs

    async def _end(
        self,
        network: str,
        transaction_hash: str,
        logs: Mapping[int, PayoutFact],
        *,
        by: str,
        reason: str,
    ) -> tuple[Sequence[Changes], Sequence[ExternalPayment]]:
        async with self._unit_of_work() as work:
            known = await work.payments_of(network, logs)
            forgotten = await work.forgotten_payments(network, logs)
            batch_state, deposits = await _lock_owners(work, known, forgotten)
            final_ids = await work.find_unreconciled(network, transaction_hash, logs)
            ordered = await self._order_forgotten(work, batch_state, forgotten, deposits, logs)
            payments = []
            for intent_id, swap_id in {**known, **ordered}.items():
                one = _find_payment(batch_state, intent_id, swap_id, logs)
                if one is not None:
                    self._require(one, final_ids)
                    batch_state.add(self._end_payment(one), trace_id=_trace_id(one))
                    payments.append(ExternalPayment(intent_id, swap_id, one.log, one.end))
            if not payments:
                raise RequestRefused(NOTHING_WAITS)
            await work.add_external_payments(payments, by=by, reason=reason)
            await save_new(work, batch_state, self._swap_messages, self._clock)
        return batch_state.changes, payments

    def _require(self, found: FoundPayment, final_ids: frozenset[int]) -> None:
        """
        :raises RequestRefused: when it may not be reconciled, or not yet.
        """
        intent, log = found.intent, found.log
        if intent.has_open_attempt or intent.state is IntentState.MINED:
            raise RequestRefused(
                f"what was signed for payment {log.paid_id} may be in a block: wait"
            )
        is_known = self._mapper.treasury(log.network, log.token) is not None
        if is_known and log.paid_id not in final_ids:
            raise RequestRefused(
                f"the ledger does not have payment {log.paid_id} as final yet: wait"
            )

    def _end_payment(self, found: FoundPayment) -> Changes:
        swap, intent, log = found.swap, found.intent, found.log
        if found.end is ReconciledEnd.LEFT:
            return leave_to_operators(swap, intent, log, at=self._clock())
        if found.end is ReconciledEnd.MADE:
            return confirm_external_payment(
                swap,
                intent,
                log,
                at=self._clock(),
                treasury=self._mapper.treasury_of(log.network),
                refuel_id=None if swap is None else refuel_id_of(swap),
            )
        assert swap is not None, "what can fail is a swap's"
        because = f"the Treasury took its id by {log.transaction_hash}, for {log.to_address}"
        return fail_spent_payment(swap, intent, at=self._clock(), because=because)


async def _require_quorum(chain: ChainReader, one: FoundTransaction, block: Block) -> None:
    """
    :raises RequestRefused: when a node contradicts it.
    :raises Unavailable: when no node reports it.
    """
    reports = await chain.receipts_of_each_node([one.transaction_hash])
    quorum = count_votes(reports[one.transaction_hash], block_hash=block.hash, succeeded=True)
    if quorum.deny:
        raise RequestRefused(
            f"Nodes disagree about {one.transaction_hash}: {', '.join(quorum.deny)}"
        )
    if not quorum.is_proven:
        raise Unavailable(f"too few providers have a receipt of {one.transaction_hash}")


async def _lock_owners(
    work: PostgresExternalPaymentWork, known: Owners, forgotten: Sequence[PaymentId]
) -> tuple[BatchState, Mapping[UUID, Deposit]]:
    """Return all that owns these payments, locked, with the deposits that no swap has."""
    wanted = {one.deposit_id for one in forgotten if one.deposit_id is not None}
    keys = {key_of(deposit) for deposit in (await work.unmatched_deposits(wanted, ())).values()}
    await work.lock_keys(keys)
    of_known = {swap_id for swap_id in known.values() if swap_id is not None}
    of_forgotten = {one.swap_id for one in forgotten if one.swap_id is not None}
    swaps = await work.lock_swaps_by_id(of_known | of_forgotten)
    alone = await work.lock_standalone_intents(
        {id for id, swap_id in known.items() if swap_id is None}
    )
    deposits = await work.unmatched_deposits(wanted, ())  # as they are now
    assets = {asset for swap in swaps.values() for asset in assets_of(swap)}
    assets |= {(d.network, d.token) for d in deposits.values()}
    assets |= {(i.network, i.token) for i in alone.values()}
    await work.lock_inventory(assets)  # before the accounts of the first save
    return BatchState(swaps, {}, standalone_intents=alone), deposits


def _find_payment(
    batch_state: BatchState, intent_id: UUID, swap_id: UUID | None, logs: Mapping[int, PayoutFact]
) -> FoundPayment | None:
    """Return its present state; None for one that is reconciled or dead."""
    swap = None if swap_id is None else batch_state.swaps[swap_id]
    intent = (batch_state.standalone_intents if swap is None else swap.intents).get(intent_id)
    if intent is None or intent.state is IntentState.CONFIRMED:
        return None  # others of the same transaction may still wait
    assert intent.paid_id is not None, "it was found by its id"
    return FoundPayment(swap, intent, logs[intent.paid_id])


def _trace_id(found: FoundPayment) -> str:
    return str(found.intent.id) if found.swap is None else trace_id_of(found.swap.id)


def _payout(network: str, paid: Paid, block: Block) -> PayoutFact:
    return PayoutFact(
        paid_id=paid.intent_id,
        version=0,
        state=FactState.CONFIRMED,
        network=network,
        transaction_hash=paid.id.transaction_hash,
        block_number=block.number,
        block_hash=block.hash,
        block_time=block.time,
        token=paid.token,
        to_address=paid.to_address,
        base_units=paid.base_units,
    )
