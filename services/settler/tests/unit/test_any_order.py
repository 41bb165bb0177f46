"""Facts in any order, any number of times: the books are correct after each of them."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable
from datetime import timedelta
from itertools import pairwise
from uuid import UUID

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from services.settler.tests.factories import (
    DEADLINE,
    ETHEREUM,
    NOON,
    PAYOUT,
    REQUESTED,
    a_catalogue,
    a_deposit_message,
    a_payout_message,
    a_refund_address,
    a_request,
    funding,
    swap_id,
)
from services.settler.tests.fakes import FakeRequotes, FakeUnitOfWork
from services.settler.tests.settler_harness import Settler
from swap_contracts.deposits import DepositChanged
from swap_contracts.envelope import Envelope
from swap_domain.lifecycle import TERMINAL, TRANSITIONS, Status
from swap_settler.model.changes import Changes
from swap_settler.model.ledger.accounts import AccountKind, Holder
from swap_settler.model.messages.swap_messages import SwapMessages
from swap_settler.model.swap import DepositState, Intent, IntentState
from swap_settler.settling.decide import payouts
from swap_settler.settling.decide.deposits import NotReversible
from swap_settler.settling.decide.requotes import RequoteRefusal

NUMBERS, NTHS = (1, 2), (0, 1, 2)
UNITS = (REQUESTED, REQUESTED // 2, REQUESTED * 2, 1)
MOVES = {(before, after) for (before, _), after in TRANSITIONS.items()}

OVER = (Status.COMPLETED, Status.REFUNDED, Status.FAILED, Status.EXPIRED)

numbers, nths = st.sampled_from(NUMBERS), st.sampled_from(NTHS)


class AnyOrder(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.work = FakeUnitOfWork()
        self.settler = Settler(self.work, self.work, requotes=FakeRequotes(self.work))
        self.swap_messages = SwapMessages(a_catalogue())
        self.versions: Counter[object] = Counter()
        self.units: dict[tuple[int, int], int] = {}
        self.deposits_sent: list[Envelope[DepositChanged]] = []
        self.ended: dict[UUID, Status] = {}
        self.hashes = 0

    def run_now(self, what: Awaitable[None]) -> None:
        async def wait() -> None:
            await what

        asyncio.run(wait())

    @initialize(swaps=st.integers(1, 3))
    def the_owner_funds(self, swaps: int) -> None:
        self.run_now(self.settler.deposits(funding(units=PAYOUT * swaps)))

    @rule(number=numbers)
    def partner_requests_a_swap(self, number: int) -> None:
        self.run_now(self.settler.requests(a_request(number)))

    @rule(
        number=numbers,
        nth=nths,
        units=st.sampled_from(UNITS),
        states=st.lists(st.sampled_from(("seen", "confirmed", "reverted")), min_size=1, max_size=3),
        late=st.booleans(),
    )
    def watcher_reports_a_deposit(
        self, number: int, nth: int, units: int, states: list[str], late: bool
    ) -> None:
        key = (number, nth)
        block_time = DEADLINE if late else NOON
        batch = []
        for state in states:
            self.versions[key] += 1
            batch.append(
                a_deposit_message(
                    state,
                    number=number,
                    nth=nth,
                    units=self.units.setdefault(key, units),
                    version=self.versions[key],
                    block_time=block_time,
                )
            )
        self.deposits_sent += batch
        try:
            self.run_now(self.settler.deposits(*batch))
        except NotReversible:
            # An operator decides, because one part of it was paid for, and another was not.
            assert self.work.deposits[batch[0].body.deposit_id].is_split

    @precondition(lambda self: self.deposits_sent)
    @rule(data=st.data())
    def a_message_comes_again_with_another_id(self, data: st.DataObject) -> None:
        message = data.draw(st.sampled_from(self.deposits_sent))
        copy = message.model_copy(update={"message_id": UUID(int=len(self.work.inbox))})
        self.run_now(self.settler.deposits(message, copy))

    @rule(number=numbers)
    def refund_address_is_set(self, number: int) -> None:
        if swap_id(number) in self.work.swaps:
            self.run_now(self.settler.requests(a_refund_address(number)))

    @rule()
    def due_refunds_are_processed(self) -> None:
        self.run_now(self.start_refunds())

    @rule(
        share_ppm=st.sampled_from((998_000, 990_000, 500_000)),
        refused=st.sampled_from((None, None, *RequoteRefusal)),
    )
    def quoter_is_queried(self, share_ppm: int, refused: RequoteRefusal | None) -> None:
        quoter = self.settler.quoter
        quoter.share_ppm, quoter.refused = share_ppm, refused
        self.run_now(self.requote_swaps())

    @rule(expensive=st.booleans())
    def gas_price_changes(self, expensive: bool) -> None:
        self.settler.chain.base_fee = 10**10 if expensive else 10**9

    @rule(number=numbers, data=st.data())
    def the_lane_signs(self, number: int, data: st.DataObject) -> None:
        intent = self.payment(number, data)
        if intent is not None and intent.state is IntentState.RESERVED:
            self.hashes += 1
            self.work.sign(intent.id, f"0x{self.hashes:064x}")

    @rule(number=numbers, data=st.data())
    def the_lane_sent_it(self, number: int, data: st.DataObject) -> None:
        intent = self.payment(number, data)
        if intent is not None and intent.attempts:
            swap = self.work.swap(swap_id(number))
            self.run_now(self.flush(payouts.mark_sent(swap, intent.id, at=self.settler.now)))

    @rule(number=numbers, data=st.data())
    def lane_abandons_after_proof(self, number: int, data: st.DataObject) -> None:
        intent = self.payment(number, data)
        if intent is not None and intent.state in (IntentState.RESERVED, IntentState.BROADCAST):
            swap = self.work.swap(swap_id(number))
            change = payouts.abandon_payment(
                swap, intent.id, at=self.settler.now, because="", failures=1
            )
            self.run_now(self.flush(change))

    @rule(
        number=numbers,
        state=st.sampled_from(("seen", "confirmed", "reverted")),
        data=st.data(),
    )
    def watcher_reports_a_payment(self, number: int, state: str, data: st.DataObject) -> None:
        intent = self.payment(number, data)
        if intent is None or not intent.attempts or intent.state is IntentState.CONFIRMED:
            return
        key = ("payout", intent.paid_id)
        self.versions[key] += 1
        message = a_payout_message(
            state,
            version=self.versions[key],
            transaction_hash=max(intent.attempts),
            intent_id=str(intent.paid_id),
            network=intent.network,
            token=intent.token,
            to_address=intent.to_address,
            base_units=str(intent.base_units),
        )
        self.run_now(self.settler.payouts(message))

    @rule(hours=st.integers(1, 5))
    def time_passes(self, hours: int) -> None:
        self.settler.now += timedelta(hours=hours)
        self.work.block_times[ETHEREUM] = self.settler.now
        self.run_now(self.expire())

    async def expire(self) -> None:
        await self.settler.expire_swaps()

    async def flush(self, change: Changes) -> None:
        async with self.work() as work:
            outgoing = self.swap_messages.outgoing([change], at=self.settler.now)
            await work.flush([change], outgoing)

    async def requote_swaps(self) -> None:
        await self.settler.requote_swaps()

    async def start_refunds(self) -> None:
        await self.settler.start_refunds()

    def payment(self, number: int, data: st.DataObject) -> Intent | None:
        """Return any live payment of a swap, if it has one."""
        id = swap_id(number)
        intents = sorted(self.live(id), key=lambda intent: intent.id)
        return data.draw(st.sampled_from(intents)) if intents else None

    def live(self, id: UUID) -> list[Intent]:
        return [i for i in self.work.intents.values() if i.is_live and i.swap_id == id]

    @invariant()
    def never_pays_a_leg_twice(self) -> None:
        """No leg is paid out twice, refunded twice, or both paid out and refunded."""
        live = Counter((i.swap_id, i.deposit_id) for i in self.work.intents.values() if i.is_live)
        assert max(live.values(), default=0) <= 1

    @invariant()
    def pays_no_more_than_was_received(self) -> None:
        for intent in (i for i in self.work.intents.values() if i.is_live and i.swap_id):
            assert intent.swap_id is not None
            swap = self.work.swap(intent.swap_id)
            if intent.deposit_id is None:
                there = sum(d.main_base_units for d in swap.booked)
            else:
                there = swap.deposits[intent.deposit_id].returned_base_units
            assert intent.base_units > 0
            assert intent.charged_base_units <= there

    @invariant()
    def deposits_are_accounted_for(self) -> None:
        """Paid out, in flight, refunded, claimable, or waiting for a further deposit."""
        for swap in map(self.work.swap, self.work.swaps):
            for deposit in swap.deposits.values():
                if deposit.is_booked and deposit.returned_base_units:
                    self.is_on_its_leg(swap.id, deposit.id, deposit.returned_base_units)
            main = sum(d.main_base_units for d in swap.booked)
            if main and swap.status in (Status.COMPLETED, Status.REFUNDED):
                assert swap.paying is not None
                assert swap.paying.confirmed_at is not None
            elif main and swap.status is Status.FAILED:
                assert self.owed(AccountKind.CLAIMABLE, swap.id, None) == main
            elif main and swap.status is Status.REFUND_PENDING and swap.paying is None:
                assert self.owed(AccountKind.SWAP_LIABILITY, swap.id, None) == main
                assert (swap.id, None) in self.work.refunds_due

    @invariant()
    def unquoted_amounts_are_due(self) -> None:
        for swap in map(self.work.swap, self.work.swaps):
            if swap.asks_for_another_quote and not swap.lacks_base_units:
                assert swap.id in self.work.requotes_due

    def is_on_its_leg(self, swap_id: UUID, leg: UUID, base_units: int) -> None:
        claimable = self.owed(AccountKind.CLAIMABLE, swap_id, leg)
        refund = next((i for i in self.live(swap_id) if i.deposit_id == leg), None)
        assert claimable == (base_units if refund is None else 0)
        assert refund is None or refund.charged_base_units == base_units

    def owed(self, kind: AccountKind, swap_id: UUID, leg: UUID | None) -> int:
        return -self.work.balance(kind, network=ETHEREUM, swap_id=swap_id, deposit_id=leg)

    @invariant()
    def terminal_stays_terminal(self) -> None:
        for swap in self.work.swaps.values():
            assert self.ended.get(swap.id, swap.status) is swap.status
            if swap.status in TERMINAL:
                self.ended[swap.id] = swap.status

    @invariant()
    def the_ledger_sums_to_zero(self) -> None:
        sums: Counter[tuple[str, str]] = Counter()
        for account, balance in self.work.balances.items():
            sums[account.network, account.token] += balance
        assert not any(sums.values())

    @invariant()
    def inventory_equals_accounts(self) -> None:
        for row in self.work.inventory.values():
            own = {"network": row.network, "token": row.token}
            held = self.work.balance(AccountKind.CUSTODY, holder=Holder.TREASURY, **own)
            owed = sum(b for a, b in self.work.balances.items() if a.is_owed and _is(a, row))
            assert (row.held_base_units, row.owed_base_units) == (held, -owed)

    @invariant()
    def custody_is_what_the_chain_has(self) -> None:
        """Without booked losses, and with the deposits that payouts in flight still stand for."""
        there = sum(
            d.base_units
            for d in self.work.deposits.values()
            if d.network == ETHEREUM and d.state is DepositState.CREDITED
        )
        live = [i for i in self.work.intents.values() if i.is_live and i.swap_id]
        pending = sum(
            deposit.base_units
            for intent in live
            if intent.confirmed_at is None and intent.swap_id
            for deposit in self.work.swap(intent.swap_id).reorged_out_of(intent.deposit_id)
        )
        sent_back = sum(i.base_units for i in live if i.confirmed_at and i.network == ETHEREUM)
        held = self.work.balance(AccountKind.CUSTODY, network=ETHEREUM)
        assert held == there + pending - sent_back

    @invariant()
    def ended_swaps_owe_nothing(self) -> None:
        for swap in self.work.swaps.values():
            if swap.status in OVER:
                for kind in (AccountKind.SWAP_LIABILITY, AccountKind.IN_FLIGHT):
                    assert self.work.balance(kind, swap_id=swap.id, deposit_id=None) == 0

    @invariant()
    def every_sequence_is_spent_once_and_published(self) -> None:
        totals = Counter(
            (
                UUID(json.loads(o.payload)["body"]["swap_id"]),
                json.loads(o.payload)["body"]["sequence"],
            )
            for o in self.work.sent
            if o.topic == "swap.changed.v1"
        )
        assert totals == Counter(list(self.work.transitions))
        for swap in self.work.swaps.values():
            history = [self.work.transitions[swap.id, n + 1] for n in range(swap.sequence)]
            assert history[0] == (None, Status.DEPOSIT_PENDING)
            assert history[-1][1] is swap.status
            for (_, before), (start, end) in pairwise(history):
                assert start is before
                assert start is end or (start, end) in MOVES

    @invariant()
    def no_signer_was_halted(self) -> None:
        assert self.work.halted == {}


def _is(account: object, row: object) -> bool:
    return all(getattr(account, n) == getattr(row, n) for n in ("network", "token"))


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(
    max_examples=settings().max_examples * 3 // 5,
    stateful_step_count=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
