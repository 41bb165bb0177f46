"""Any schedule of deposits, payments and reorgs: each leg is paid once, out or back, or is owed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.settler.tests.factories import (
    DEADLINE,
    ETHEREUM,
    HOUR,
    LATER,
    NOON,
    PLENTY,
    POLYGON,
    REFUEL,
    REQUESTED,
    USER,
    a_deposit_fact,
    a_payout,
    a_quote,
    a_swap,
    with_signed_attempts,
)
from swap_domain.catalogue import NATIVE
from swap_domain.lifecycle import Status
from swap_settler.model.changes import Changes
from swap_settler.model.ledger.accounts import Account, AccountKind
from swap_settler.model.messages.message_mapping import (
    paid_id_of,
    refuel_id_of,
    refund_id_of,
    to_quote_terms,
)
from swap_settler.model.swap import DepositState, Intent, IntentKind, IntentState, Leg, Swap
from swap_settler.settling.decide import deposits, expiry, payouts, refuels
from swap_settler.settling.decide.deposits import NotReversible
from swap_settler.settling.decide.refunds import start
from swap_settler.settling.decide.requests import set_refund_address
from swap_settler.settling.decide.requotes import RequoteRefusal, accept, refuse

EXAMPLES: Final = 10 * settings().max_examples
TREASURY: Final = "0xtreasury"
COSTS: Final = (190, REQUESTED // 2, 3 * REQUESTED)
STEPS: Final = (
    "deposit", "deposit", "deposit", "reorg", "address", "start_refunds", "start_refunds",
    "sign", "sign", "mined", "final", "unmined", "abandon", "deadline", "requote", "requote",
    "wait_for_the_refuel",
)  # fmt: skip
# The quoter's answers: the same, a little less, a lot less, or a refusal.
ANSWERS: Final = (998, 990, 500, *RequoteRefusal)
ROUNDS_MAX: Final = 20

schedules = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 11)), max_size=30)


class SwapSchedule:
    """One swap, with its bookings and the facts of its chains."""

    def __init__(self, *, has_address: bool, has_refuel: bool) -> None:
        address = USER if has_address else None
        self.swap: Swap = a_swap(refund_address=address, refuel=has_refuel)
        self.has_refuel = has_refuel
        self.balances: Counter[Account] = Counter()
        self.booked: set[str] = set()
        self.due: list[Leg] = []
        self.paid: Counter[Leg] = Counter()
        self.refuelled = 0
        self.intents: dict[UUID, Intent] = {}
        self.versions: Counter[object] = Counter()

    def apply(self, change: Changes) -> None:
        if change.swap is not None:
            saved = {**self.swap.intents, **{intent.id: intent for intent in change.intents}}
            live = {id: intent for id, intent in saved.items() if intent.is_live}
            assert live == change.swap.intents, "what is decided about a payment is saved"
        for intent in change.intents:
            if intent.state is IntentState.CONFIRMED and intent.confirmed_at is not None:
                known = self.intents.get(intent.id)
                is_first = known is None or known.confirmed_at is None
                if intent.kind is IntentKind.REFUEL:
                    self.refuelled += is_first
                else:
                    self.paid[intent.deposit_id] += is_first
            self.intents[intent.id] = intent
        for entry in change.ledger:
            assert entry.dedupe_key not in self.booked
            self.booked.add(entry.dedupe_key)
            for posting in entry.postings:
                self.balances[posting.account] += posting.base_units
        self.due += change.refunds_due
        self.swap = change.swap or self.swap

    def take_step(self, what: str, number: int) -> None:
        getattr(self, what)(number)
        self.check()

    def deposit(self, number: int) -> None:
        units = (REQUESTED, REQUESTED // 2, 2 * REQUESTED, 100)[number % 4]
        self.report("confirmed", number % 3, units, LATER if number > 9 else NOON, number)

    def reorg(self, number: int) -> None:
        self.report("reverted", number % 3, REQUESTED, NOON, number)

    def report(self, state: str, nth: int, units: int, at: datetime, number: int) -> None:
        self.versions[nth] += 1
        more: dict[str, Any] = {"nth": nth, "version": self.versions[nth], "block_time": at}
        fact = a_deposit_fact(state, received_at=at, units=units, **more)
        known = self.swap.deposits.get(fact.deposit.id)
        if known is not None:
            fact = replace(fact, deposit=replace(fact.deposit, base_units=known.base_units))
        available = 0 if number % 5 == 0 else PLENTY
        try:
            change = deposits.decide(
                self.swap,
                fact,
                at=at,
                available=available,
                paid_id=paid_id_of(self.swap),
                refuel_available=0 if number % 7 == 0 else REFUEL,
            )
        except NotReversible:
            assert known is not None
            assert known.is_split or self.swap.refuel is not None
        else:
            self.apply(change)

    def address(self, _: int) -> None:
        self.apply(set_refund_address(self.swap, USER, at=NOON))

    def start_refunds(self, number: int) -> None:
        due, self.due = self.due, []
        for leg in due:
            id, cost = refund_id_of(self.swap, leg), COSTS[number % len(COSTS)]
            self.apply(start(self.swap, leg, at=NOON, cost=cost, paid_id=id))

    def requote(self, number: int) -> None:
        if not self.swap.asks_for_another_quote:
            return
        answer = ANSWERS[number % len(ANSWERS)]
        now: dict[str, Any] = {
            "at": NOON,
            "available": PLENTY,
            "paid_id": paid_id_of(self.swap),
            "refuel_available": REFUEL,
        }
        if isinstance(answer, RequoteRefusal):
            self.apply(refuse(self.swap, answer, **now))
            return
        units = self.swap.credited_base_units
        has_refuel = self.swap.quote.refuel is not None
        offer = a_quote(requested=units, payout=units * answer // 1000, refuel=has_refuel)
        self.apply(accept(self.swap, to_quote_terms(offer, expires_at=LATER), **now))

    def sign(self, number: int) -> None:
        intent = self.chosen(number, IntentState.RESERVED)
        if intent is not None:
            self.swap = self.swap.with_intent(with_signed_attempts(intent, f"0x{intent.id.hex}"))

    def mined(self, number: int) -> None:
        self.log("seen", number)

    def final(self, number: int) -> None:
        self.log("confirmed", number)

    def unmined(self, number: int) -> None:
        self.log("reverted", number)

    def log(self, state: str, number: int) -> None:
        intent = self.chosen(number, IntentState.BROADCAST, IntentState.MINED)
        if intent is None:
            return
        self.versions[intent.paid_id] += 1
        log = a_payout(
            state,
            version=self.versions[intent.paid_id],
            transaction_hash=f"0x{intent.id.hex}",
            intent_id=str(intent.paid_id),
            network=intent.network,
            token=intent.token,
            to_address=intent.to_address,
            base_units=str(intent.base_units),
        )
        id = refuel_id_of(self.swap)
        self.apply(payouts.decide(self.swap, log, at=NOON, treasury=TREASURY, refuel_id=id))

    def abandon(self, number: int) -> None:
        intent = self.chosen(number, IntentState.RESERVED, IntentState.BROADCAST)
        if intent is not None:
            self.apply(
                payouts.abandon_payment(self.swap, intent.id, at=NOON, because="", failures=1)
            )

    def wait_for_the_refuel(self, _: int) -> None:
        self.apply(refuels.overdue(self.swap, at=LATER))

    def deadline(self, _: int) -> None:
        self.apply(expiry.decide(self.swap, at=max(DEADLINE, self.swap.expires_at) + HOUR))

    def chosen(self, number: int, *states: IntentState) -> Intent | None:
        there = sorted(
            (i for i in self.swap.intents.values() if i.state in states), key=lambda i: i.id
        )
        return there[number % len(there)] if there else None

    def check(self) -> None:
        legs = Counter(
            (i.deposit_id, i.kind is IntentKind.REFUEL) for i in self.swap.intents.values()
        )
        assert max(legs.values(), default=0) <= 1, "a leg with two live payments"
        assert max(self.paid.values(), default=0) <= 1, "a leg that was paid twice"

    def run_until_idle(self) -> None:
        """Run all steps until nothing is due or in flight."""
        for _ in range(ROUNDS_MAX):
            self.take_step("requote", 0)
            self.take_step("start_refunds", 0)
            self.take_step("wait_for_the_refuel", 0)
            for number in range(len(self.swap.intents)):
                self.take_step("sign", number)
            for _ in range(len(self.swap.intents)):
                self.take_step("final", 0)
            if not self.due and self.chosen(0, *set(IntentState) - {IntentState.CONFIRMED}) is None:
                return
        raise AssertionError("it never comes to rest")

    @property
    def spent_on_refuel(self) -> int:
        """The amount spent on a refuel that was sent, or is claimable."""
        return self.swap.credited_base_units - self.swap.refundable_base_units

    def owed(self, kind: AccountKind, leg: Leg) -> int:
        return -sum(
            balance
            for account, balance in self.balances.items()
            if account.kind is kind
            and account.network == ETHEREUM
            and account.swap_id
            and account.deposit_id == leg
        )


@given(schedule=schedules, has_address=st.booleans(), has_refuel=st.booleans())
@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
def test_every_leg_is_paid_out_or_back_or_owed(
    schedule: list[tuple[str, int]], has_address: bool, has_refuel: bool
) -> None:
    schedule_run = SwapSchedule(has_address=has_address, has_refuel=has_refuel)
    for what, number in schedule:
        schedule_run.take_step(what, number)
    schedule_run.run_until_idle()

    swap = schedule_run.swap
    assert swap.status not in (Status.PAYOUT_PENDING, Status.REFUND_PENDING)
    legs: list[tuple[Leg, int]] = [(None, sum(d.main_base_units for d in swap.booked))]
    legs += [(d.id, d.returned_base_units) for d in swap.deposits.values() if d.is_booked]
    for leg, held in legs:
        is_paid = schedule_run.paid[leg] == 1
        is_waiting = leg is None and swap.status is Status.DEPOSIT_PENDING
        kind = AccountKind.SWAP_LIABILITY if is_waiting else AccountKind.CLAIMABLE
        spent = schedule_run.spent_on_refuel if leg is None else 0
        # Exactly one of payout, refund and balance.
        assert schedule_run.owed(kind, leg) == (0 if is_paid else held - spent)
    assert all(
        balance == 0
        for account, balance in schedule_run.balances.items()
        if account.kind is AccountKind.IN_FLIGHT
    )
    assert schedule_run.refuelled <= 1
    if swap.status is Status.COMPLETED and has_refuel:
        assert_refuel_is_accounted_for(schedule_run)
    is_over = swap.status in (Status.COMPLETED, Status.REFUNDED)
    assert (schedule_run.paid[None] == 1) is is_over
    assert all(d.state is not DepositState.QUARANTINED for d in swap.deposits.values())


def assert_refuel_is_accounted_for(schedule_run: SwapSchedule) -> None:
    """It was sent, is claimable for the recipient, or was never bought and was refunded."""
    owed = {
        kind: -sum(
            balance
            for account, balance in schedule_run.balances.items()
            if account.kind is kind and account.network == POLYGON and account.token == NATIVE
        )
        for kind in (
            AccountKind.CLAIMABLE,
            AccountKind.REFUEL_LIABILITY,
            AccountKind.REFUEL_IN_FLIGHT,
        )
    }
    was_bought = schedule_run.refuelled or schedule_run.spent_on_refuel
    assert owed[AccountKind.REFUEL_LIABILITY] == owed[AccountKind.REFUEL_IN_FLIGHT] == 0
    assert owed[AccountKind.CLAIMABLE] == (
        REFUEL if was_bought and not schedule_run.refuelled else 0
    )
