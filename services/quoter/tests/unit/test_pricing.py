from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.quoter.tests.factories import (
    DAI,
    ETHEREUM,
    GWEI,
    NOW,
    POLYGON,
    USDC,
    a_market,
    a_route,
    a_rule,
)
from swap_contracts.quoting import PARTNER_FEE_MAX
from swap_domain.catalogue import NATIVE
from swap_quoter.domain.market import Market
from swap_quoter.domain.pricing import (
    PPM,
    Rates,
    amount_for,
    price,
    rates_of,
    smallest_input,
    token_unit,
)
from swap_quoter.domain.refusals import RateUnknown
from swap_quoter.domain.routes import Route

ONE_DOLLAR = 10**18
AMOUNTS = st.integers(min_value=0, max_value=10**30)
USD = st.integers(min_value=1, max_value=10**24)
SIDES = st.sampled_from(
    [
        ((ETHEREUM, NATIVE), (POLYGON, NATIVE)),
        ((ETHEREUM, NATIVE), (POLYGON, USDC[POLYGON])),
        ((ETHEREUM, USDC[ETHEREUM]), (POLYGON, USDC[POLYGON])),
        ((ETHEREUM, DAI[ETHEREUM]), (POLYGON, USDC[POLYGON])),
        ((POLYGON, USDC[POLYGON]), (ETHEREUM, DAI[ETHEREUM])),
    ]
)


@st.composite
def priced_routes(draw: st.DrawFn) -> tuple[Route, Rates]:
    """Return any route of the test catalogue under any prices, fees and gas costs."""
    basis_points, partner = draw(st.integers(0, 8_999)), draw(st.integers(0, PARTNER_FEE_MAX))
    source, destination = draw(SIDES)
    route = a_route(source, destination, a_rule(service_fee_basis_points=basis_points))
    digits = st.builds(lambda usd: f"{usd // ONE_DOLLAR}.{usd % ONE_DOLLAR:018}", USD)
    prices = {symbol: draw(digits) for symbol in ("ETH", "POL", "USDC", "DAI")}
    gas = {network: draw(st.integers(0, 1_000 * GWEI)) for network in (ETHEREUM, POLYGON)}
    market = a_market(prices=prices, gas=gas)
    refuel = draw(st.none() | st.integers(1, 100 * ONE_DOLLAR))
    return route, rates_of(
        route, market, refuel_usd_e18=refuel, now=NOW, partner_fee_basis_points=partner
    )


class TestPrice:
    @given(priced_routes(), AMOUNTS)
    @pytest.mark.fault("M2")
    def test_accounts_for_every_base_unit_of_the_input(
        self, route_and_rates: tuple[Route, Rates], amount: int
    ) -> None:
        _, rates = route_and_rates

        priced = price(rates, amount, slippage_ppm=5000)

        refuel = rates.refuel.in_source if rates.refuel else 0
        converted = max(amount - priced.total_fee - refuel, 0)
        residue = converted * rates.numerator - priced.receive * rates.denominator
        assert priced.requested == amount
        assert 0 <= residue < rates.denominator
        if priced.receive:
            assert priced.total_fee + refuel + converted == amount

    @given(priced_routes(), AMOUNTS)
    @pytest.mark.fault("M2")
    def test_never_rounds_in_favour_of_the_user(
        self, route_and_rates: tuple[Route, Rates], amount: int
    ) -> None:
        route, rates = route_and_rates

        priced = price(rates, amount, slippage_ppm=5000)

        assert priced.service_fee * 10_000 >= amount * route.rule.service_fee_basis_points
        assert priced.receive * rates.denominator <= amount * rates.numerator
        assert priced.min_receive * PPM <= priced.receive * (PPM - 5000)

    @given(priced_routes(), AMOUNTS, AMOUNTS)
    def test_never_pays_less_for_more(
        self, route_and_rates: tuple[Route, Rates], amount: int, more: int
    ) -> None:
        _, rates = route_and_rates

        smaller = price(rates, amount, slippage_ppm=5000)
        larger = price(rates, amount + more, slippage_ppm=5000)

        assert larger.receive >= smaller.receive
        assert larger.min_receive >= smaller.min_receive
        assert larger.service_fee >= smaller.service_fee

    def test_moves_the_same_asset_without_looking_at_its_price(self) -> None:
        route = a_route()
        rates = rates_of(route, a_market(gas=_no_gas()), refuel_usd_e18=None, now=NOW)

        priced = price(rates, 100_000_001, slippage_ppm=5000)

        assert priced.service_fee == 100_001  # 10 bps of it, rounded up
        assert priced.receive == 100_000_001 - 100_001

    def test_charges_the_destination_gas_in_the_source_token(self) -> None:
        route = a_route()
        rates = rates_of(route, a_market(), refuel_usd_e18=None, now=NOW)

        # 95,000 units at 50 gwei are 0.00475 POL: at 0.25 $ 1187.5 millionths of a dollar.
        assert rates.payout_cost == 1188

    def test_takes_the_refuel_and_its_gas_from_the_source(self) -> None:
        route = a_route()
        rates = rates_of(route, a_market(), refuel_usd_e18=ONE_DOLLAR, now=NOW)

        assert rates.refuel is not None
        assert rates.refuel.base_units == 4 * 10**18  # a dollar of POL
        assert rates.refuel.in_source == 1_000_000 + 938  # 75,000 units at 50 gwei, rounded up

    def test_gives_no_refuel_to_who_receives_the_native_token(self) -> None:
        route = a_route((ETHEREUM, NATIVE), (POLYGON, NATIVE))

        rates = rates_of(route, a_market(), refuel_usd_e18=ONE_DOLLAR, now=NOW)

        assert rates.refuel is None

    def test_receives_zero_when_the_fees_exceed_the_amount(self) -> None:
        route = a_route()
        rates = rates_of(route, a_market(), refuel_usd_e18=None, now=NOW)

        assert price(rates, 1000, slippage_ppm=0).receive == 0


class TestSmallestInput:
    @given(priced_routes(), AMOUNTS)
    def test_is_the_least_amount_that_pays_the_requested_sum(
        self, route_and_rates: tuple[Route, Rates], receive: int
    ) -> None:
        _, rates = route_and_rates

        amount = smallest_input(rates, receive)

        assert price(rates, amount, slippage_ppm=0).receive >= receive
        if receive:
            assert price(rates, amount - 1, slippage_ppm=0).receive < receive

    @given(priced_routes(), AMOUNTS.filter(bool))
    def test_is_the_smallest_at_the_precision_of_the_source(
        self, route_and_rates: tuple[Route, Rates], receive: int
    ) -> None:
        route, rates = route_and_rates
        unit = token_unit(route.source)

        amount = amount_for(route, rates, receive)

        assert amount % unit == 0
        assert price(rates, amount, slippage_ppm=0).receive >= receive
        assert price(rates, amount - unit, slippage_ppm=0).receive < receive


class TestPartnerFee:
    @given(priced_routes(), AMOUNTS)
    def test_is_a_part_of_the_service_fee_rounded_down(
        self, route_and_rates: tuple[Route, Rates], amount: int
    ) -> None:
        route, rates = route_and_rates

        priced = price(rates, amount, slippage_ppm=0)

        assert priced.partner_fee == amount * rates.partner_fee_basis_points // 10_000
        ours = priced.service_fee - priced.partner_fee
        assert ours * 10_000 >= amount * route.rule.service_fee_basis_points


class TestRatesOf:
    @pytest.mark.parametrize("symbol", ["ETH", "POL", "USDC"])
    def test_refuses_without_every_price(self, symbol: str) -> None:
        market = a_market()
        market.prices = {name: known for name, known in market.prices.items() if name != symbol}

        with pytest.raises(RateUnknown, match="Rate not available"):
            rates_of(a_route(), market, refuel_usd_e18=None, now=NOW)

    @pytest.mark.parametrize("network", [ETHEREUM, POLYGON])
    def test_refuses_without_the_gas_of_both_networks(self, network: str) -> None:
        market = a_market()
        market.gas = {name: known for name, known in market.gas.items() if name != network}

        with pytest.raises(RateUnknown):
            rates_of(a_route(), market, refuel_usd_e18=None, now=NOW)

    @pytest.mark.parametrize("part", ["prices", "gas"])
    @pytest.mark.fault("A19")
    def test_a19_takes_what_is_too_old_for_missing(self, part: str) -> None:
        market: Market = a_market()
        bound = market.prices_max_age if part == "prices" else market.gas_max_age
        assert bound is not None
        fresh, stale = NOW + bound, NOW + bound * 2
        market.prices_max_age = bound
        market.gas_max_age = bound

        rates_of(a_route(), market, refuel_usd_e18=None, now=fresh)
        with pytest.raises(RateUnknown):
            rates_of(a_route(), market, refuel_usd_e18=None, now=stale)


def _no_gas() -> dict[str, int]:
    return {ETHEREUM: 0, POLYGON: 0}
