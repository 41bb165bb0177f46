"""The sender lane: from a reserved intent to bytes that every node has.

Sign, then take the nonces and store the bytes in one transaction, then broadcast. A crash before
the transaction leaves nothing. A crash after it leaves the same nonces and bytes to the next run. A
slot that carries other payments, or another nonce, than were signed for is signed again and stored
by a second transaction. A crash between the two leaves a slot without bytes, which the next run
fills.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final, NamedTuple

from swap_chains.errors import ChainError
from swap_chains.evm.codec import selector
from swap_chains.evm.gasless import DEPOSIT_WITH_PERMIT
from swap_chains.ports import CallSimulation, ChainReader, ChainSender, Fees
from swap_runtime.crashpoint import crashpoint
from swap_settler.paying import observe
from swap_settler.paying.decide.lane import Group, Payment, Slot, group_payments, one_permit_each
from swap_settler.paying.decide.slots import Attempt, fitting
from swap_settler.paying.store.lane_store import PostgresLaneStore
from swap_settler.paying.usecases.abandon_payouts import PAID_EXTERNALLY, AbandonPayouts
from swap_settler.paying.usecases.apply_outflow_limits import ApplyOutflowLimits
from swap_settler.paying.usecases.buffer_sent_attempts import BroadcastResultListener
from swap_settler.paying.usecases.end_relays import EndRelays
from swap_settler.paying.usecases.limit_recipients import LimitRecipients
from swap_settler.paying.usecases.screen_payments import ScreenPayments
from swap_settler.paying.usecases.slot_transactions import SlotTransactions
from swap_settler.paying.usecases.transaction_calls import TransactionCalls

ALREADY_PAID: Final = selector("AlreadyPaid(uint256)")
OUTFLOW_EXCEEDED: Final = selector("OutflowLimitExceeded(address,uint256,uint256)")
# Refusals that do not end a payment: it is tried again after `QUEUE_PAUSE`.
NOT_NOW: Final = {
    selector("EnforcedPause()"): "treasury paused",
    selector("NotOperator(address)"): "signer is no operator",
    # The chain has a payment that the ledger lacks: the signer halts as well.
    ALREADY_PAID: "intent already paid on chain",
}
QUEUE_PAUSE: Final = timedelta(seconds=5)
REFUSAL_BYTES_MAX: Final = 4 + 4 * 32  # the longest error of the Treasury


class Simulation(NamedTuple):
    """What the Treasury would make of some groups now."""

    passing: list[Group]
    reverting: list[tuple[Group, CallSimulation]]
    allowances: Mapping[str, CallSimulation]  # the amount that it would pay now, by token


class PendingChecks(NamedTuple):
    """What is found out while the payments are tried."""

    clear: Awaitable[Sequence[Payment]]  # those with recipients that may be paid
    with_code: Awaitable[Collection[str]]  # the recipients that run code


class SendPayouts:
    """Put what waits for one signer of one network on nonces and send it."""

    def __init__(
        self,
        *,
        chain: ChainReader,
        sender: ChainSender,
        store: PostgresLaneStore,
        result_listener: BroadcastResultListener,
        abandon_payouts: AbandonPayouts,
        end_relays: EndRelays,
        calls: TransactionCalls,
        screen: ScreenPayments,
        fee_cap: int,
        slots_max: int = 16,
        payments_max: int = 50,
    ) -> None:
        self._chain = chain
        self._sender = sender
        self._store = store
        self._result_listener = result_listener
        self._abandon_payouts = abandon_payouts
        self._end_relays = end_relays
        self._calls = calls
        self._transactions = SlotTransactions(sender, calls)
        self._screen = screen
        self._recipients = LimitRecipients(
            network=chain.network, store=store, abandon_payouts=abandon_payouts
        )
        self._limits = ApplyOutflowLimits(
            chain=chain, sender=sender.address, store=store, calls=calls
        )
        self._native = calls.native
        self._fee_cap = fee_cap
        self._slots_max = slots_max
        self._payments_max = payments_max
        self._has_unsigned_slots = True  # until looked at: a crash may have left some
        self._was_batch_full = False  # the last look found at least one transaction's worth

    @property
    def has_more(self) -> bool:
        """Whether to look again at once after something was sent: one look does not take all."""
        return self._has_unsigned_slots or self._was_batch_full

    def expect_unsigned_slots(self) -> None:
        """Look for slots without bytes: there are new ones."""
        self._has_unsigned_slots = True

    async def __call__(self, *, epoch: int) -> int:
        """Send what is due and return how many transactions left.

        :raises ChainUnavailable: when no node answers; what was stored is sent again later.
        :raises LeaseLost: when another lane has taken over.
        """
        stored = await self._prepare_attempts(epoch)
        crashpoint("settler.before_send")
        answers = await self._transactions.broadcast(stored) if stored else ()
        if answers:
            crashpoint("settler.after_send")
            await self._result_listener.record_results(self._chain.network, answers)
        return len(stored)

    async def _prepare_attempts(self, epoch: int) -> Sequence[Attempt]:
        """Return what may be sent now: signed, and stored."""
        due = await self._store.due(limit=self._slots_max * self._payments_max)
        if due.next_nonce is None:
            return ()  # the chain may have unknown payments: none is abandoned
        if self._has_unsigned_slots:
            unsigned = await self._store.unsigned_slots(epoch=epoch)
            if unsigned.payable:
                return await self._left_over(unsigned.payable, epoch)
            # While payments are stopped there may be some that nothing is signed for.
            self._has_unsigned_slots = unsigned.has_any
        self._was_batch_full = len(due.payments) >= self._payments_max
        sendable = await self._recipients.without_refused_recipients(due.payments, epoch=epoch)
        waiting = one_permit_each(sendable, permit=DEPOSIT_WITH_PERMIT)
        free = await self._free_slots(due.in_flight) if waiting else 0
        if free <= 0:
            return ()
        # Concurrently with the reads of `_payable`.
        screening = asyncio.create_task(self._screen(waiting, epoch=epoch))
        fees = asyncio.create_task(self._fees())
        with_code = asyncio.create_task(self._with_code(waiting))
        try:
            checks = PendingChecks(screening, with_code)
            payable = await self._payable(waiting, free, checks, due.on_its_way, epoch)
            if not payable:
                return ()
            return await self._assign_nonces(payable[:free], due.next_nonce, await fees, epoch)
        except ChainError:
            await screening  # blocked recipients need no node's answer
            raise
        finally:
            fees.cancel()
            with_code.cancel()
            # Their errors are retrieved here; asyncio would log them.
            await asyncio.gather(screening, fees, with_code, return_exceptions=True)

    async def _left_over(self, slots: Sequence[Slot], epoch: int) -> Sequence[Attempt]:
        """Sign for the slots that a crash left. They are looked for until none is found."""
        clear = await self._still_clear(slots, epoch)
        return await self._sign_and_store(clear, await self._fees(), epoch) if clear else ()

    async def _assign_nonces(
        self, groups: Sequence[Group], next_nonce: int, fees: Fees, epoch: int
    ) -> Sequence[Attempt]:
        """Take nonces for the groups, with bytes that were signed for the nonces to be expected.

        Slots that differ from what was signed are signed again; the first bytes are never sent.
        """
        expected = enumerate(groups, start=next_nonce)
        signed = [await self._transactions.sign(nonce, group, fees) for nonce, group in expected]
        crashpoint("settler.after_sign")
        had_unsigned, self._has_unsigned_slots = self._has_unsigned_slots, True
        slots = await self._store.assign(groups, signed=signed, epoch=epoch)
        crashpoint("settler.after_slot")
        stored = fitting(signed, slots)
        nonces = {attempt.transaction.nonce for attempt in stored}
        others = [slot for slot in slots if slot.nonce not in nonces]
        other_attempts = await self._sign_and_store(others, fees, epoch) if others else ()
        # A slot with payments that were put back meanwhile is checked again: it needs a no-op.
        self._has_unsigned_slots = had_unsigned or len(other_attempts) < len(others)
        return [*stored, *other_attempts]

    async def _sign_and_store(
        self, slots: Sequence[Slot], fees: Fees, epoch: int
    ) -> Sequence[Attempt]:
        attempts = [await self._transactions.sign(s.nonce, s.payments, fees) for s in slots]
        crashpoint("settler.after_sign_anew")
        return await self._store.store_attempts(attempts, epoch=epoch)

    async def _payable(
        self,
        waiting: Sequence[Payment],
        free: int,
        checks: PendingChecks,
        on_its_way: Mapping[str, int],
        epoch: int,
    ) -> Sequence[Group]:
        """Return what may leave and would be paid now, in as many groups as there are slots."""
        payments = await self._within_limits(waiting, checks.clear, on_its_way)
        groups = self._group(payments, free)
        simulation = await self._simulate(groups)
        clear = {payment.intent_id for payment in await checks.clear}
        may_send = [payment for payment in payments if payment.intent_id in clear]
        ordered_payments = await self._recipients.in_turn(
            self._with_risky_alone(may_send, await checks.with_code)
        )
        if ordered_payments != list(payments):
            groups = self._group(ordered_payments, free)
            simulation = await self._simulate(groups)
        return await self._paid_now(groups, simulation, on_its_way, epoch)

    def _group(self, payments: Sequence[Payment], free: int) -> Sequence[Group]:
        return group_payments(payments, slots_max=free, payments_max=self._payments_max)

    async def _still_clear(self, slots: Sequence[Slot], epoch: int) -> Sequence[Slot]:
        """Screen recipients of slots without bytes again: their allocation may be long ago.

        A slot of a blocked recipient is returned without its payment, for a no-op.
        """
        payments = [payment for slot in slots for payment in slot.payments]
        clear = {p.intent_id for p in await self._screen(payments, epoch=epoch)}
        return [slot for slot in slots if all(p.intent_id in clear for p in slot.payments)]

    async def _within_limits(
        self,
        waiting: Sequence[Payment],
        clear: Awaitable[Sequence[Payment]],
        on_its_way: Mapping[str, int],
    ) -> Sequence[Payment]:
        """Leave out what waits for the Treasury: it would take the slots of what may leave.

        No blocked recipient is in its queue.
        """
        tokens = sorted({p.token for p in waiting if p.is_queued})
        if not tokens:
            return waiting
        calls = [self._calls.available(token) for token in tokens]
        answers = await self._chain.simulate(calls, sender=self._sender.address)
        allowances = dict(zip(tokens, answers, strict=True))
        payments = await clear
        beyond = set(await self._limits.queue_excess([tuple(payments)], allowances, on_its_way))
        return [payment for payment in payments if payment not in beyond]

    async def _free_slots(self, in_flight: int) -> int:
        free = self._slots_max - in_flight
        if free > 0:
            return free
        # A reverted one is mined too, although it has no log.
        head = await self._chain.head()
        mined = await self._chain.nonce(self._sender.address, at=head)
        return self._slots_max - await self._store.in_flight(first=mined)

    async def _with_code(self, payments: Sequence[Payment]) -> Collection[str]:
        """Return which recipients of native money run code."""
        natives = {p.to_address for p in payments if p.token == self._native and not p.goes_alone}
        return await self._chain.with_code(natives) if natives else ()

    def _with_risky_alone(
        self, payments: Sequence[Payment], with_code: Collection[str]
    ) -> Sequence[Payment]:
        """Send native money to an address with code alone: it could use up the gas of a batch.

        Likewise payments to a recipient with earlier reverts, with code or not.
        """
        return [
            replace(p, goes_alone=True)
            if (p.token == self._native and p.to_address in with_code) or p.recipient_reverts
            else p
            for p in payments
        ]

    async def _paid_now(
        self,
        groups: Sequence[Group],
        simulation: Simulation,
        on_its_way: Mapping[str, int],
        epoch: int,
    ) -> Sequence[Group]:
        """Return what the Treasury would pay now; of a group that it would not, each alone."""
        passing, reverting, allowances = simulation
        beyond = await self._limits.queue_excess(groups, allowances, on_its_way)
        if beyond:
            left = [tuple(p for p in group if p not in beyond) for group in groups]
            passing, reverting, _ = await self._simulate([group for group in left if group])
        singles = [(payment,) for group, _ in reverting if len(group) > 1 for payment in group]
        refused = [(group[0], answer) for group, answer in reverting if len(group) == 1]
        if singles:
            passing_singles, reverting_singles, _ = await self._simulate(singles)
            passing += passing_singles
            refused += [(group[0], answer) for group, answer in reverting_singles]
        if refused:
            await self._record_refusals(refused, epoch)
        return passing

    async def _simulate(self, groups: Sequence[Group]) -> Simulation:
        """Try each group, and ask in the same request what the Treasury would pay of each token."""
        tokens = sorted({p.token for group in groups for p in group if not p.is_relay})
        calls = [self._calls.paying(group) for group in groups]
        answers = await self._chain.simulate(
            [*calls, *map(self._calls.available, tokens)], sender=self._sender.address
        )
        simulation = list(zip(groups, answers[: len(groups)], strict=True))
        allowances = dict(zip(tokens, answers[len(groups) :], strict=True))
        passing = [group for group, answer in simulation if answer.succeeded]
        # What the node could not try is neither: it waits for the next round.
        unknown = [
            answer.text for _, answer in simulation if not (answer.succeeded or answer.is_revert)
        ]
        for text in unknown:
            observe.payments_not_simulated(self._chain.network, text)
        return Simulation(
            passing,
            [(group, answer) for group, answer in simulation if answer.is_revert],
            allowances,
        )

    async def _record_refusals(
        self, refused: Sequence[tuple[Payment, CallSimulation]], epoch: int
    ) -> None:
        limited = [p for p, a in refused if a.data[:4] == OUTFLOW_EXCEEDED]
        await self._limits.queue_refused(limited)
        refused = [(p, a) for p, a in refused if p not in limited]
        queued = [(p, NOT_NOW[a.data[:4]]) for p, a in refused if a.data[:4] in NOT_NOW]
        failed = [(p, _refusal_text(a)) for p, a in refused if a.data[:4] not in NOT_NOW]
        for payment, reason in queued:
            observe.payment_queued(payment.swap_id, self._chain.network, reason)
        if queued:
            await self._store.defer_payments([p.intent_id for p, _ in queued], pause=QUEUE_PAUSE)
        unknown = [p for p, a in refused if a.data[:4] == ALREADY_PAID]
        if unknown:
            # A ledger that lost one payment may have lost others.
            ids = ", ".join(str(payment.intent_id) for payment in unknown)
            await self._store.halt(f"{PAID_EXTERNALLY}: intent {ids}")
        for payment, reason in failed:
            observe.payment_refused(payment.swap_id, self._chain.network, reason)
        relays = {p: a for p, a in refused if p.is_relay and a.data[:4] not in NOT_NOW}
        if relays:
            await self._end_relays(relays, epoch=epoch)
        payments = [(p, text) for p, text in failed if not p.is_relay]
        if payments:
            await self._abandon_payouts(
                {p.intent_id: p.swap_id for p, _ in payments},
                refusals={p.intent_id: text for p, text in payments},
                epoch=epoch,
            )

    async def _fees(self) -> Fees:
        return (await self._chain.fees()).at_most(self._fee_cap)


def _refusal_text(refusal: CallSimulation) -> str:
    """Return a node's error text with the contract's own, cut to a readable length."""
    return f"{refusal.text} 0x{refusal.data[:REFUSAL_BYTES_MAX].hex()}".strip()
