"""How a quote is computed. Integers only, and every rounding is named.

Charges are rounded up and payments are rounded down, so a remainder is never the user's gain and
never lost. Exactly: `requested = total fee + refuel + converted`. The converted amount is worth the
payout plus less than one base unit of the destination.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from swap_domain.catalogue import Token
from swap_domain.money import Rounding, convert
from swap_quoter.domain.market import Market
from swap_quoter.domain.refusals import Method
from swap_quoter.domain.routes import BASIS_POINTS, Route

PPM = 1_000_000


@dataclass(frozen=True, slots=True)
class Refuel:
    base_units: int  # of the destination's native token
    in_source: int  # its worth and its payment's gas, in source base units


@dataclass(frozen=True, slots=True)
class Rates:
    """Everything about a route that moves, at one moment, as integers."""

    source_usd_e18: int
    destination_usd_e18: int
    source_native_usd_e18: int
    destination_native_usd_e18: int
    numerator: int  # one source base unit is worth numerator ÷ denominator of the destination
    denominator: int
    payout_cost: int  # source base units; with the deposit, where we make it
    refund_cost: int  # source base units
    refuel: Refuel | None
    fee_basis_points: int  # the service's and the partner's together
    partner_fee_basis_points: int

    @property
    def fixed_cost(self) -> int:
        """Return what is taken from every amount, in source base units."""
        return self.payout_cost + (self.refuel.in_source if self.refuel else 0)


@dataclass(frozen=True, slots=True)
class PricedAmount:
    """One amount, priced. Source base units but for the two that are received."""

    requested: int
    receive: int
    min_receive: int
    blockchain_fee: int
    service_fee: int
    partner_fee: int = 0  # of the service fee, what is owed to the partner

    @property
    def total_fee(self) -> int:
        return self.blockchain_fee + self.service_fee


def rates_of(
    route: Route,
    market: Market,
    *,
    refuel_usd_e18: int | None,
    now: datetime,
    method: Method = Method.DIRECT,
    partner_fee_basis_points: int = 0,
) -> Rates:
    """Collect what pricing needs.

    :param refuel_usd_e18: what a refuel is worth, None without one.
    :param method: how the money comes: we pay for some of that on the source.
    :param partner_fee_basis_points: what the partner adds to our fee, for himself.
    :raises RateUnknown: when a price or a gas cost is missing or too old.
    """
    source = market.get_price(route.source, now=now)
    destination = market.get_price(route.destination, now=now)
    source_native = market.get_price(route.source_native, now=now)
    destination_native = market.get_price(route.destination_native, now=now)
    destination_gas = market.get_gas(route.destination.network, now=now)
    source_gas = market.get_gas(route.source.network, now=now)
    numerator, denominator = _rate(route, source, destination)

    def in_source(native: Token, base_units: int, usd_e18: int) -> int:
        return _exchange(base_units, native, usd_e18, route.source, source)

    refuel = None
    if refuel_usd_e18 is not None and route.can_refuel:
        amount = _worth(refuel_usd_e18, route.destination_native, destination_native)
        spent = amount + route.refuel_gas * destination_gas
        refuel = Refuel(amount, in_source(route.destination_native, spent, destination_native))
    return Rates(
        source_usd_e18=source,
        destination_usd_e18=destination,
        source_native_usd_e18=source_native,
        destination_native_usd_e18=destination_native,
        numerator=numerator,
        denominator=denominator,
        payout_cost=in_source(
            route.destination_native, route.payout_gas * destination_gas, destination_native
        )
        + in_source(route.source_native, route.deposit_gas(method) * source_gas, source_native),
        refund_cost=in_source(
            route.source_native,
            route.return_gas(method) * source_gas,
            source_native,
        ),
        refuel=refuel,
        fee_basis_points=route.rule.service_fee_basis_points + partner_fee_basis_points,
        partner_fee_basis_points=partner_fee_basis_points,
    )


def price(rates: Rates, base_units: int, *, slippage_ppm: int) -> PricedAmount:
    """Price an amount; one that its fees eat up receives nothing."""
    service_fee = convert(
        base_units,
        numerator=rates.fee_basis_points,
        denominator=BASIS_POINTS,
        rounding=Rounding.UP,
    )
    net = max(base_units - service_fee - rates.fixed_cost, 0)
    receive = convert(
        net, numerator=rates.numerator, denominator=rates.denominator, rounding=Rounding.DOWN
    )
    return PricedAmount(
        requested=base_units,
        receive=receive,
        min_receive=convert(
            receive, numerator=PPM - slippage_ppm, denominator=PPM, rounding=Rounding.DOWN
        ),
        blockchain_fee=rates.payout_cost,
        service_fee=service_fee,
        partner_fee=convert(
            base_units,
            numerator=rates.partner_fee_basis_points,
            denominator=BASIS_POINTS,
            rounding=Rounding.DOWN,
        ),
    )


def smallest_input(rates: Rates, receive: int) -> int:
    """Return the smallest amount that pays out this much of the destination, or more.

    The service fee is rounded up, so that what it leaves of an amount is the floor of the rest.
    """
    return convert(
        net_of(rates, receive) + rates.fixed_cost,
        numerator=BASIS_POINTS,
        denominator=BASIS_POINTS - rates.fee_basis_points,
        rounding=Rounding.UP,
    )


def net_of(rates: Rates, receive: int) -> int:
    """Return the least that has to be converted for it, in source base units."""
    return convert(
        receive, numerator=rates.denominator, denominator=rates.numerator, rounding=Rounding.UP
    )


def amount_for(route: Route, rates: Rates, receive: int) -> int:
    """Return the smallest amount at the source's precision that pays out this much, or more."""
    unit = token_unit(route.source)
    return -(-smallest_input(rates, receive) // unit) * unit


def _rate(route: Route, source_usd_e18: int, destination_usd_e18: int) -> tuple[int, int]:
    """Return the rate between base units; the same asset is moved, not exchanged."""
    numerator = 10**route.destination.decimals
    denominator = 10**route.source.decimals
    if route.is_same_asset:
        return numerator, denominator
    return numerator * source_usd_e18, denominator * destination_usd_e18


def _exchange(
    base_units: int, sold: Token, sold_usd_e18: int, bought: Token, bought_usd_e18: int
) -> int:
    """Return what a cost in one token is in another. It is charged, so it is rounded up."""
    return convert(
        base_units,
        numerator=sold_usd_e18 * 10**bought.decimals,
        denominator=bought_usd_e18 * 10**sold.decimals,
        rounding=Rounding.UP,
    )


def _worth(worth_usd_e18: int, token: Token, usd_e18: int) -> int:
    """Return how much of the token the dollars buy, cut off at its precision."""
    base_units = convert(
        worth_usd_e18,
        numerator=10**token.decimals,
        denominator=usd_e18,
        rounding=Rounding.DOWN,
    )
    return base_units - base_units % token_unit(token)


def token_unit(token: Token) -> int:
    """Return the smallest amount that the token's precision shows, in base units."""
    return int(10 ** (token.decimals - token.precision))
