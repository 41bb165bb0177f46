"""Between which amounts a route is open now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from swap_domain.catalogue import Token
from swap_domain.money import Rounding, convert
from swap_quoter.domain.market import Market
from swap_quoter.domain.pricing import Rates, smallest_input, token_unit
from swap_quoter.domain.refusals import AboveMaximum, BelowMinimum, InventoryTooSmall
from swap_quoter.domain.routes import BASIS_POINTS, Route

# A refund that eats a quarter of the amount is the most a user should ever meet.
REFUND_COSTS_MIN: Final = 4
# The smallest native amount that is ever offered: a millionth of the coin.
NATIVE_MIN_DECIMALS: Final = 6


@dataclass(frozen=True, slots=True)
class Limits:
    """In source base units. A maximum below the minimum: nothing can be paid now."""

    min: int
    route_max: int
    payable_max: int  # what the destination's inventory can pay

    @property
    def max(self) -> int:
        return min(self.route_max, self.payable_max)


def limits_of(route: Route, rates: Rates, market: Market) -> Limits:
    """Compute the limits: the minimum rounded up to the precision, the maximum down."""
    unit = token_unit(route.source)
    smallest = max(
        _in_source(route, rates, route.rule.min_usd_e18, Rounding.UP),
        smallest_input(rates, token_unit(route.destination)),
        REFUND_COSTS_MIN * rates.refund_cost,
        _native_floor(route.source),
    )
    return Limits(
        min=-(-smallest // unit) * unit,
        route_max=_down(_in_source(route, rates, route.rule.max_usd_e18, Rounding.DOWN), unit),
        payable_max=_down(_largest_payable(route, rates, market), unit),
    )


def check_amount(base_units: int, limits: Limits) -> None:
    """
    :raises BelowMinimum: :raises AboveMaximum: :raises InventoryTooSmall:
    """
    if base_units < limits.min:
        raise BelowMinimum(limits.min)
    if base_units > limits.route_max:
        raise AboveMaximum(limits.max)
    if base_units > limits.payable_max:
        raise InventoryTooSmall(limits.payable_max)


def _largest_payable(route: Route, rates: Rates, market: Market) -> int:
    """Return the largest amount with a payout and refuel that the inventory covers."""
    available = market.available(route.destination)
    refuel = rates.refuel
    if refuel and market.available(route.destination_native) < refuel.base_units:
        return 0
    if available == 0:
        return 0
    net = _largest(available, numerator=rates.numerator, denominator=rates.denominator)
    share_after_fee = BASIS_POINTS - rates.fee_basis_points
    return _largest(net + rates.fixed_cost, numerator=share_after_fee, denominator=BASIS_POINTS)


def _largest(result: int, *, numerator: int, denominator: int) -> int:
    """Return the largest x that is worth at most `result` at the rate, rounded down."""
    return ((result + 1) * denominator - 1) // numerator


def _in_source(route: Route, rates: Rates, usd_e18: int, rounding: Rounding) -> int:
    return convert(
        usd_e18,
        numerator=10**route.source.decimals,
        denominator=rates.source_usd_e18,
        rounding=rounding,
    )


def _native_floor(token: Token) -> int:
    if not token.is_native:
        return 0
    return int(10 ** max(token.decimals - NATIVE_MIN_DECIMALS, 0))


def _down(base_units: int, unit: int) -> int:
    return base_units - base_units % unit
