"""Every payment that a swap orders, field by field: recipient, amount and purpose."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID, uuid5

import pytest

from services.settler.tests.factories import (
    ETHEREUM,
    HOUR,
    MINUTE,
    NOON,
    PLENTY,
    POLYGON,
    RECIPIENT,
    REFUEL,
    REFUEL_CHARGED,
    REQUESTED,
    TREASURY,
    USDC,
    USER,
    a_deposit_fact,
    a_payout,
    a_swap,
    swap_of,
    with_signed_attempts,
)
from swap_domain.catalogue import NATIVE
from swap_domain.lifecycle import Status
from swap_domain.money import Asset
from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.changes import NOTHING, Changes
from swap_settler.model.ledger import ledger
from swap_settler.model.swap import FailReason, Intent, IntentKind, IntentState, Method, Swap
from swap_settler.model.work_due import is_refundable
from swap_settler.model.worth import worth
from swap_settler.settling.decide import deposits, payouts
from swap_settler.settling.decide.refunds import (
    abandon_refund,
    cost_of,
    has_address,
    is_covered,
    is_worth,
    start,
)

PAYOUT, PAID_ID, COST = 980_000, 77, 190
DOLLAR = 10**18
AT = NOON + MINUTE


def credited(*, available: int = PLENTY, refuel: bool = False) -> Changes:
    swap = a_swap(payout=PAYOUT, refuel=refuel, refund_address=USER)
    # The destination token is worth two dollars, the source token one.
    swap = replace(swap, quote=replace(swap.quote, destination_usd_e18=2 * DOLLAR))
    return deposits.decide(
        swap,
        a_deposit_fact(),
        at=AT,
        available=available,
        paid_id=PAID_ID,
        refuel_available=REFUEL,
    )


def an_intent(swap: Swap, kind: IntentKind, name: str, **values: object) -> Intent:
    return Intent(  # type: ignore[arg-type]
        **{
            "id": uuid5(swap.id, name),
            "paid_id": PAID_ID,
            "swap_id": swap.id,
            "deposit_id": None,
            "kind": kind,
            "state": IntentState.RESERVED,
            "due_at": AT,
            "created_at": AT,
        }
        | values
    )


class TestAnOutput:
    @pytest.mark.parametrize("refuel", [False, True])
    def test_pays_the_recipient_what_was_quoted(self, refuel: bool) -> None:
        change = credited(refuel=refuel)

        swap = swap_of(change)
        output = an_intent(
            swap,
            IntentKind.OUTPUT,
            f"output/{swap.sequence}",
            network=POLYGON,
            token=USDC[POLYGON],
            to_address=RECIPIENT,
            base_units=PAYOUT,
            charged_base_units=REQUESTED - (REFUEL_CHARGED if refuel else 0),
            usd_micros=2 * PAYOUT,
        )
        assert change.intents == (output,)
        [deposit] = change.deposits
        bought = swap.quote.refuel
        assert change.ledger == (
            ledger.deposit_credited(swap, deposit),
            ledger.quote_executed(swap, output),
            ledger.payout_reserved(swap, output),
            *((ledger.refuel_bought(swap, bought),) if bought else ()),
        )
        assert (change.previous_status, swap.status) == (
            Status.DEPOSIT_PENDING,
            Status.PAYOUT_PENDING,
        )
        assert (change.refunds_due, change.is_requote_due) == ((), False)


class TestARefuel:
    def test_pays_the_recipient_in_the_destinations_own_coin(self) -> None:
        swap = swap_of(credited(refuel=True))
        assert swap.output is not None
        out = swap.with_intent(with_signed_attempts(swap.output))
        log = replace(a_payout("seen", base_units=str(PAYOUT)), paid_id=PAID_ID)

        change = payouts.decide(out, log, at=AT, treasury=TREASURY[POLYGON], refuel_id=PAID_ID)

        updated_swap = swap_of(change)
        refuel = an_intent(
            swap,
            IntentKind.REFUEL,
            f"refuel/{updated_swap.sequence}",
            network=POLYGON,
            token=NATIVE,
            to_address=RECIPIENT,
            base_units=REFUEL,
            charged_base_units=REFUEL_CHARGED,
            usd_micros=REFUEL_CHARGED,  # at the price of the token that paid for it
        )
        assert change.intents == (updated_swap.output, refuel)
        assert change.ledger == (ledger.payout_reserved(updated_swap, refuel),)


def started(swap: Swap, leg: UUID | None = None, *, cost: int = COST) -> Changes:
    return start(swap, leg, at=AT, cost=cost, paid_id=PAID_ID)


def pending() -> Swap:
    """Return a swap with a deposit that arrived when there was no inventory."""
    return swap_of(credited(available=0))


def with_own_leg() -> tuple[Swap, UUID]:
    """Return a swap with a deposit that arrived after its end, on a separate leg."""
    over = replace(a_swap(refund_address=USER), status=Status.COMPLETED)
    fact = a_deposit_fact(units=1_000)
    late = deposits.decide(over, fact, at=AT, available=PLENTY, paid_id=PAID_ID)
    return swap_of(late), fact.deposit.id


class TestARefund:
    @pytest.mark.parametrize("cost", [COST, 0])
    def test_pays_the_refund_address_what_the_main_leg_holds_without_the_gas(
        self, cost: int
    ) -> None:
        swap = pending()

        change = started(swap, cost=cost)

        refund = an_intent(
            swap,
            IntentKind.REFUND,
            f"refund/main/{swap.sequence + 1}",
            network=ETHEREUM,
            token=USDC[ETHEREUM],
            to_address=USER,
            base_units=REQUESTED - cost,
            charged_base_units=REQUESTED,
            usd_micros=REQUESTED - cost,
        )
        after = swap.on(AT).with_intent(refund)
        assert change == Changes(
            swap=after,
            previous_status=Status.REFUND_PENDING,
            cause=ChangeCause.REFUND_STARTED,
            intents=(refund,),
            ledger=(
                *((ledger.refund_cost(after, refund),) if cost else ()),
                ledger.payout_reserved(after, refund),
            ),
        )

    def test_of_an_own_leg_is_claimable_no_more(self) -> None:
        swap, leg = with_own_leg()

        change = started(swap, leg)

        refund = an_intent(
            swap,
            IntentKind.REFUND,
            f"refund/{leg}/{swap.sequence + 1}",
            deposit_id=leg,
            network=ETHEREUM,
            token=USDC[ETHEREUM],
            to_address=USER,
            base_units=1_000 - COST,
            charged_base_units=1_000,
            usd_micros=1_000 - COST,
        )
        after = swap.on(AT).with_intent(refund)
        assert change.intents == (refund,)
        assert change.ledger == (
            ledger.claimable_to_liability(after, 1_000, leg),
            ledger.refund_cost(after, refund),
            ledger.payout_reserved(after, refund),
        )
        assert (change.swap, change.previous_status) == (after, Status.COMPLETED)

    def test_that_is_not_worth_it_ends_the_swap_and_leaves_an_own_leg_claimable(self) -> None:
        main = started(pending(), cost=REQUESTED)
        swap, leg = with_own_leg()

        failed = swap_of(main)
        assert (failed.status, failed.closed_at) == (Status.FAILED, AT)
        assert failed.fail_reason is FailReason.REFUND_BELOW_COST
        assert main.previous_status is Status.REFUND_PENDING
        assert main.ledger == (ledger.claimable(failed, REQUESTED),)
        assert started(swap, leg, cost=1_000) is NOTHING
        assert started(swap, leg, cost=999).intents[0].base_units == 1

    def test_needs_an_address_a_balance_and_no_other_payment(self) -> None:
        swap, leg = with_own_leg()
        main = pending()
        nowhere = replace(main, terms=replace(main.terms, refund_address=None))
        unbooked = swap.with_deposit(replace(swap.deposits[leg], is_booked=False))
        refunding = swap_of(started(swap, leg))

        assert is_refundable(main, None)
        assert is_refundable(swap, leg)
        for one, of in [
            (nowhere, None),
            (main, leg),  # no such deposit
            (swap, None),  # its main leg was paid
            (unbooked, leg),
            (refunding, leg),
        ]:
            assert not is_refundable(one, of)
            assert start(one, of, at=AT, cost=0, paid_id=PAID_ID) is NOTHING

    def test_waits_while_its_deposit_is_reverted(self) -> None:
        swap, leg = with_own_leg()
        gone = replace(swap.deposits[leg], state=a_deposit_fact("reverted").deposit.state)
        after_reorg = swap.with_deposit(replace(gone, state=deposits.DepositState.REVERTED))

        assert not is_refundable(after_reorg, leg)

    def test_is_covered_by_what_is_swept(self) -> None:
        swap = pending()

        assert is_covered(swap, None, available=0)
        assert not is_covered(swap, None, available=-1)
        assert is_covered(swap, UUID(int=1), available=-1)  # there is nothing to cover

    def test_that_is_not_worked_out_in_time_is_claimable(self) -> None:
        swap = pending()

        change = abandon_refund(swap, at=AT + HOUR)

        failed = swap_of(change)
        assert (failed.status, failed.closed_at) == (Status.FAILED, AT + HOUR)
        assert failed.fail_reason is FailReason.INSUFFICIENT_LIQUIDITY
        assert failed.sequence == swap.sequence + 1
        assert change.ledger == (ledger.claimable(failed, REQUESTED),)
        assert abandon_refund(swap_of(started(swap)), at=AT) is NOTHING
        assert abandon_refund(swap_of(credited()), at=AT) is NOTHING

    @pytest.mark.parametrize("cost", [COST, 0])
    def test_that_is_dead_is_claimable_without_its_cost(self, cost: int) -> None:
        refunding = swap_of(started(pending(), cost=cost))
        refund = refunding.refund(None)
        assert refund is not None

        change = payouts.abandon_payment(refunding, refund.id, at=AT, because="so", failures=1)

        [dead] = change.intents
        updated_swap = swap_of(change)
        assert change.ledger == (
            ledger.payout_released(updated_swap, dead),
            *((ledger.refund_cost_reversed(updated_swap, dead),) if cost else ()),
            ledger.claimable(updated_swap, REQUESTED),
        )

    def test_of_a_deposit_address_waits_for_its_sweep(self) -> None:
        swap = pending()
        [deposit] = swap.deposits.values()
        at_address = replace(deposit, id=UUID(int=1), method=Method.DEPOSIT_ADDRESS)

        assert not has_address(swap)
        assert has_address(swap.with_deposit(at_address))


class TestPrices:
    """A coin of 18 decimals costs 3,000 dollars, and a token of 6 decimals two."""

    SWAP = replace(
        a_swap(),
        quote=replace(
            a_swap().quote, source_usd_e18=2 * DOLLAR, source_native_usd_e18=3_000 * DOLLAR
        ),
    )

    @pytest.mark.parametrize(
        ("gas", "fee", "data_fee", "cost"),
        [
            (1_000, 10**9, 0, 1_500),
            (1_000, 10**9, 10**12, 3_000),
            (0, 10**9, 10**12, 1_500),
            (1, 1, 0, 1),  # rounded up
            (0, 0, 0, 0),
        ],
    )
    def test_a_refund_costs_its_gas_in_the_source_token(
        self, gas: int, fee: int, data_fee: int, cost: int
    ) -> None:
        cost_found = cost_of(
            self.SWAP, gas=gas, max_fee_per_gas=fee, native_decimals=18, data_fee=data_fee
        )

        assert cost_found == cost

    def test_without_a_data_fee_only_the_gas_counts(self) -> None:
        cost_found = cost_of(self.SWAP, gas=1_000, max_fee_per_gas=10**9, native_decimals=18)

        assert cost_found == 1_500

    @pytest.mark.parametrize(
        ("decimals", "units", "micros"),
        [(6, 5, 10), (6, 0, 0), (18, 10**18, 2 * 10**6), (18, 1, 1), (0, 1, 2 * 10**6)],
    )
    def test_an_amount_is_worth_micro_dollars_rounded_up(
        self, decimals: int, units: int, micros: int
    ) -> None:
        assert worth(Asset(ETHEREUM, "T", decimals), units, 2 * DOLLAR) == micros

    def test_a_refund_is_worth_more_than_it_costs(self) -> None:
        swap = pending()

        assert is_worth(swap, None, cost=REQUESTED - 1)
        assert not is_worth(swap, None, cost=REQUESTED)
