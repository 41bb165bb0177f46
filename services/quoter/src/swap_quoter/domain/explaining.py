"""The arithmetic of a quote, step by step, in words that can be followed with a calculator."""

from __future__ import annotations

from collections.abc import Iterator

from swap_quoter.domain.pricing import PPM, PricedAmount, Rates, net_of, token_unit
from swap_quoter.domain.routes import BASIS_POINTS, Route

Step = tuple[str, str, int]  # name, formula, value


def steps_of(
    route: Route, rates: Rates, priced: PricedAmount, slippage_ppm: int, asked_receive: int | None
) -> tuple[Step, ...]:
    """Return every integer between the inputs and the quote.

    :param asked_receive: the requested output, where the request had one.
    """
    return (
        *_rate(route, rates),
        *_requested_steps(route, rates, priced, asked_receive),
        *_result(rates, priced, slippage_ppm),
    )


def _rate(route: Route, rates: Rates) -> Iterator[Step]:
    top, bottom = f"10^{route.destination.decimals}", f"10^{route.source.decimals}"
    if not route.is_same_asset:
        top, bottom = f"{top} × source_usd_e18", f"{bottom} × destination_usd_e18"
    yield "rate_numerator", top, rates.numerator
    yield "rate_denominator", bottom, rates.denominator
    yield (
        "blockchain_fee",
        "payout gas units × wei per unit, and those of the deposit where we make it, each in source"
        " base units at the prices, rounded up",
        rates.payout_cost,
    )
    if rates.refuel is not None:
        yield "refuel", "its worth in the destination's coin", rates.refuel.base_units
        yield (
            "refuel_in_source",
            "ceil((refuel + refuel gas units × wei per unit) in source base units at the prices)",
            rates.refuel.in_source,
        )
    yield "fixed_cost", "blockchain_fee + refuel_in_source", rates.fixed_cost
    yield (
        "fee_basis_points",
        "service_fee_basis_points + partner_fee_basis_points",
        rates.fee_basis_points,
    )


def _requested_steps(
    route: Route, rates: Rates, priced: PricedAmount, asked_receive: int | None
) -> Iterator[Step]:
    if asked_receive is None:
        yield "requested", "as asked", priced.requested
        return
    yield "asked_receive", "as asked", asked_receive
    yield (
        "needed",
        "ceil(asked_receive × rate_denominator ÷ rate_numerator)",
        net_of(rates, asked_receive),
    )
    yield "unit", "10^(source decimals − source precision)", token_unit(route.source)
    yield (
        "requested",
        f"ceil((needed + fixed_cost) × {BASIS_POINTS} ÷ ({BASIS_POINTS} − fee_basis_points)),"
        " rounded up to unit",
        priced.requested,
    )


def _result(rates: Rates, priced: PricedAmount, slippage_ppm: int) -> Iterator[Step]:
    yield (
        "service_fee",
        f"ceil(requested × fee_basis_points ÷ {BASIS_POINTS})",
        priced.service_fee,
    )
    yield (
        "partner_fee",
        f"floor(requested × partner_fee_basis_points ÷ {BASIS_POINTS}), a part of service_fee",
        priced.partner_fee,
    )
    yield "total_fee", "blockchain_fee + service_fee", priced.total_fee
    yield (
        "converted",
        "requested − service_fee − fixed_cost",
        priced.requested - priced.service_fee - rates.fixed_cost,
    )
    yield (
        "receive",
        "floor(converted × rate_numerator ÷ rate_denominator)",
        priced.receive,
    )
    yield "slippage_ppm", "as asked, or the route's", slippage_ppm
    yield "min_receive", f"floor(receive × ({PPM} − slippage_ppm) ÷ {PPM})", priced.min_receive
