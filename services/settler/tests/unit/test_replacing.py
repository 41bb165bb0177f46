from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swap_chains.ports import Fees
from swap_settler.paying.decide.replacing import Act, OpenSlot, Patience, offered_more

PATIENCE = Patience(timedelta(seconds=30), timedelta(hours=2), fee_cap=1000)
PAYMENTS = ("a payment",)
STUCK = OpenSlot(
    nonce=0,
    fees=Fees(100, 10),
    is_cancel=False,
    signed_for=timedelta(minutes=1),
    assigned_for=timedelta(minutes=1),
    payments=PAYMENTS,  # type: ignore[arg-type]
    is_unfounded=False,
)
FEE = st.integers(0, 10**15)


def about(slot: OpenSlot = STUCK, *, is_lowest: bool = True, blocks_passed: int = 2) -> Act:
    return PATIENCE.about(slot, is_lowest=is_lowest, blocks_passed=blocks_passed)


class TestPatience:
    def test_offers_more_for_the_lowest_that_blocks_passed_by(self) -> None:
        assert about() is Act.OFFER_MORE

    @pytest.mark.parametrize(
        ("slot", "otherwise"),
        [
            (STUCK, {"is_lowest": False}),
            (STUCK, {"blocks_passed": 1}),
            (replace(STUCK, signed_for=timedelta(seconds=29)), {}),
        ],
    )
    def test_waits_otherwise(self, slot: OpenSlot, otherwise: dict[str, int]) -> None:
        assert about(slot, **otherwise) is Act.WAIT

    def test_offers_more_from_the_moment_that_it_waited_long_enough(self) -> None:
        waited = replace(STUCK, signed_for=timedelta(seconds=30))

        assert about(waited) is Act.OFFER_MORE

    def test_cancels_after_the_dwell_time_and_then_offers_more_for_that(self) -> None:
        late = replace(STUCK, assigned_for=timedelta(hours=2))

        assert about(late) is Act.CANCEL
        assert about(replace(late, is_cancel=True)) is Act.OFFER_MORE

    def test_does_not_end_what_no_block_could_take(self) -> None:
        late = replace(STUCK, assigned_for=timedelta(hours=2))

        assert about(late, blocks_passed=0) is Act.WAIT

    def test_cancels_at_once_what_a_reorg_took_the_money_for(self) -> None:
        without_deposit = replace(STUCK, is_unfounded=True, signed_for=timedelta(0))

        assert about(without_deposit, is_lowest=False, blocks_passed=0) is Act.CANCEL
        assert about(replace(without_deposit, is_cancel=True), is_lowest=False) is Act.WAIT

    def test_lets_a_no_op_cost_more_per_gas_than_a_payment(self) -> None:
        assert PATIENCE.cap(Act.OFFER_MORE, STUCK) == 1000
        assert PATIENCE.cap(Act.CANCEL, STUCK) == 2000
        assert PATIENCE.cap(Act.OFFER_MORE, replace(STUCK, payments=())) == 2000


class TestWhatIsOffered:
    @given(max_fee=FEE, tip=FEE, market=FEE, market_tip=FEE, cap=FEE)
    @pytest.mark.fault("S15")
    def test_s15_raises_both_fees_by_the_rule_of_every_node_or_neither(
        self, max_fee: int, tip: int, market: int, market_tip: int, cap: int
    ) -> None:
        old = Fees(max_fee, min(tip, max_fee))

        new = offered_more(old, Fees(market, market_tip), cap=cap)

        if new is None:
            assert max_fee * 1125 > cap * 1000 or max_fee + 1 > cap
            return
        assert new.max_fee_per_gas <= cap
        assert new.max_priority_fee_per_gas <= new.max_fee_per_gas
        assert new.max_fee_per_gas * 1000 >= old.max_fee_per_gas * 1125
        assert new.max_priority_fee_per_gas * 1000 >= old.max_priority_fee_per_gas * 1125

    @pytest.mark.fault("S13")
    def test_s13_is_a_fifth_more_rounded_up_or_the_market(self) -> None:
        assert offered_more(Fees(101, 11), Fees(1, 1), cap=1000) == Fees(122, 14)
        assert offered_more(Fees(101, 11), Fees(500, 60), cap=1000) == Fees(500, 60)
        assert offered_more(Fees(10**9, 10**8), Fees(1, 1), cap=10**10) == Fees(
            12 * 10**8, 12 * 10**7
        )

    def test_is_one_more_where_a_fifth_is_less_than_that(self) -> None:
        assert offered_more(Fees(0, 0), Fees(0, 0), cap=9) == Fees(1, 1)
        assert offered_more(Fees(4, 3), Fees(0, 0), cap=9) == Fees(5, 4)

    @pytest.mark.fault("S14")
    def test_s14_is_never_less_than_an_eighth_more(self) -> None:
        assert offered_more(Fees(100, 10), Fees(1, 1), cap=113) == Fees(113, 12)
        assert offered_more(Fees(100, 10), Fees(1, 1), cap=112) is None

    @pytest.mark.fault("S16")
    def test_s16_stops_at_the_cap_whatever_the_market_asks(self) -> None:
        assert offered_more(Fees(900, 900), Fees(10**6, 10**6), cap=1000) is None
        assert offered_more(Fees(100, 10), Fees(10**6, 10**6), cap=1000) == Fees(1000, 1000)
