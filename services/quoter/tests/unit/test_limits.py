from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.quoter.tests.factories import (
    ETHEREUM,
    GWEI,
    NOW,
    POLYGON,
    USDC,
    a_market,
    a_route,
    a_rule,
)
from swap_domain.catalogue import NATIVE
from swap_quoter.domain.limits import Limits, check_amount, limits_of
from swap_quoter.domain.market import Market
from swap_quoter.domain.pricing import price, rates_of, token_unit
from swap_quoter.domain.refusals import AboveMaximum, BelowMinimum, InventoryTooSmall
from swap_quoter.domain.routes import Route

FREE = a_rule(min_usd="0")


def limits(route: Route, market: Market, refuel: int | None = None) -> Limits:
    return limits_of(route, rates_of(route, market, refuel_usd_e18=refuel, now=NOW), market)


class TestMinimum:
    def test_is_the_route_s_in_dollars(self) -> None:
        assert limits(a_route(), a_market(gas={ETHEREUM: 0, POLYGON: 0})).min == 1_000_000

    def test_is_four_refunds_where_those_cost_more(self) -> None:
        # 95,000 units at 20 gwei are 0.0019 ETH, 5.70 $.
        assert limits(a_route(), a_market()).min == 4 * 5_700_000

    def test_is_never_below_a_millionth_of_a_native_token(self) -> None:
        route = a_route((ETHEREUM, NATIVE), (POLYGON, NATIVE), FREE)

        assert limits(route, a_market(gas={ETHEREUM: 0, POLYGON: 0})).min == 10**12

    @given(
        gas=st.integers(0, 1000 * GWEI),
        basis_points=st.integers(0, 8999),
        sides=st.sampled_from(
            [
                ((ETHEREUM, USDC[ETHEREUM]), (POLYGON, NATIVE)),
                ((POLYGON, NATIVE), (ETHEREUM, NATIVE)),
                ((ETHEREUM, NATIVE), (POLYGON, USDC[POLYGON])),
            ]
        ),
    )
    def test_always_pays_out_something(
        self, gas: int, basis_points: int, sides: tuple[tuple[str, str], tuple[str, str]]
    ) -> None:
        route = a_route(*sides, a_rule(min_usd="0", service_fee_basis_points=basis_points))
        market = a_market(gas={ETHEREUM: gas, POLYGON: gas})
        rates = rates_of(route, market, refuel_usd_e18=None, now=NOW)

        smallest = limits_of(route, rates, market).min

        assert price(rates, smallest, slippage_ppm=0).receive >= token_unit(route.destination)
        assert smallest % token_unit(route.source) == 0


class TestMaximum:
    def test_is_the_route_s_in_dollars(self) -> None:
        assert limits(a_route(), a_market()).max == 50_000 * 10**6

    def test_is_zero_without_an_inventory_message(self) -> None:
        assert limits(a_route(), a_market(inventory={})).max == 0

    def test_is_zero_where_the_refuel_cannot_be_paid(self) -> None:
        market = a_market(inventory={(POLYGON, USDC[POLYGON]): 10**12})

        assert limits(a_route(), market, refuel=10**18).max == 0
        assert limits(a_route(), market).max == 50_000 * 10**6

    @given(available=st.integers(1, 10**12), gas=st.integers(0, 1000 * GWEI))
    def test_is_the_most_that_the_inventory_pays(self, available: int, gas: int) -> None:
        route = a_route((ETHEREUM, USDC[ETHEREUM]), (POLYGON, USDC[POLYGON]))
        market = a_market(
            inventory={(POLYGON, USDC[POLYGON]): available}, gas={ETHEREUM: gas, POLYGON: gas}
        )
        rates = rates_of(route, market, refuel_usd_e18=None, now=NOW)

        largest = limits_of(route, rates, market).payable_max

        assert price(rates, largest, slippage_ppm=0).receive <= available
        assert price(rates, largest + 1, slippage_ppm=0).receive > available


class TestCheckAmount:
    def test_names_the_limit_that_was_crossed(self) -> None:
        known = Limits(min=10, route_max=100, payable_max=50)

        with pytest.raises(BelowMinimum) as too_little:
            check_amount(9, known)
        with pytest.raises(AboveMaximum) as too_much:
            check_amount(101, known)
        with pytest.raises(InventoryTooSmall) as refused:
            check_amount(51, known)
        check_amount(50, known)

        assert too_little.value.limit_base_units == 10
        assert too_much.value.limit_base_units == 50
        assert refused.value.limit_base_units == 50
