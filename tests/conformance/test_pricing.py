"""Quotes, limits, ranges and the legacy rate."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.conformance.signing import RequirementMissing
from tests.conformance.world import Route, World, truncate

rule = pytest.mark.rule
ROUNDING = 1e-6
ZERO = "0x" + "0" * 40


def quoted(world: World, route: Route, amount: str | None = None, **more: Any) -> Any:
    parameters = {**route.query, "amount": amount or world.amount(route), **more}
    return world.target.get("/api/v2/quote", "Quoted", **parameters)


@rule("4.2", "gasless-priced")
@rule("4.1", "gasless-fee")
def test_a_gasless_quote_and_swap_have_a_larger_fee(world: World) -> None:
    route = world.gasless_route
    amount = world.amount(route, use_gasless="true")
    plain = quoted(world, route, amount)["quote"]
    signed = quoted(world, route, amount, use_gasless="true")["quote"]
    created = world.target.create({**world.order(route, use_gasless=True), "amount": amount})

    assert signed["blockchain_fee"] > plain["blockchain_fee"]
    assert signed["total_fee"] > plain["total_fee"]
    assert created["quote"]["total_fee"] > plain["total_fee"]


@rule("4.2", "quotes-nothing")
def test_a_quote_creates_no_swap(world: World) -> None:
    before = world.target.ask("GET", "/api/v2/swaps").headers["x-total-count"]
    quoted(world, world.native_route)

    assert world.target.ask("GET", "/api/v2/swaps").headers["x-total-count"] == before


@rule("4.2", "swap-rate")
def test_the_legacy_rate_matches_the_limits(world: World) -> None:
    route = world.native_route.query
    body = {
        "source": route["source_network"],
        "destination": route["destination_network"],
        "source_asset": route["source_token"],
        "destination_asset": route["destination_token"],
        "refuel": False,
    }
    answer = world.target.observe(
        world.target.ask("POST", "/api/swap_rate", key=None, json=body), "[Rate]"
    )

    assert answer
    for row in answer:
        assert 0 < row["min_amount"] < row["max_amount"]
        assert row["fee_amount"] >= 0


@rule("8", "limits-hold")
@pytest.mark.parametrize("limit", ["min_amount", "max_amount"])
def test_amounts_at_the_limits_are_quoted(world: World, limit: str) -> None:
    route = world.native_route
    limits = world.limits(route)

    assert 0 < limits["min_amount"] < limits["max_amount"]
    quote = quoted(world, route, truncate(Decimal(str(limits[limit])), route.source))
    assert quote["quote"]["requested_amount"] == limits[limit]


@rule("D2", "limits-native")
def test_the_minimum_of_a_coin_is_not_too_small(world: World) -> None:
    assert world.limits(world.native_route)["min_amount"] >= 0.000001


@rule("D2", "limits-without-amount")
def test_limits_and_ranges_need_no_amount(world: World) -> None:
    route = world.native_route.query
    limits = world.target.get("/api/v2/limits", "Limits", **route)
    ranges = world.target.get("/api/v2/detailed_quote", "[DetailedQuote]", **route)

    assert limits["min_amount"] > 0
    assert ranges
    for one in ranges:
        assert one["min_amount"] < one["max_amount"]
        assert [step["order"] for step in one["path"]] == sorted(s["order"] for s in one["path"])


@rule("D2", "quoted-prices")
def test_tokens_of_a_quote_carry_prices(world: World) -> None:
    quote = quoted(world, world.native_route)["quote"]

    assert quote["source_token"]["price_in_usd"] > 0
    assert quote["destination_token"]["price_in_usd"] > 0


@rule("D5", "total-fee")
def test_the_total_fee_is_the_sum_of_its_parts(world: World) -> None:
    quote = quoted(world, world.native_route)["quote"]

    parts = quote["blockchain_fee"] + quote["service_fee"] - quote["fee_discount"]
    assert quote["total_fee"] == pytest.approx(parts, abs=ROUNDING)


@rule("D5", "min-receive")
def test_minimum_receive_amount_is_less_by_the_slippage(world: World) -> None:
    quote = quoted(world, world.native_route, slippage="0.0025")["quote"]

    assert quote["slippage"] == 0.0025
    least = quote["receive_amount"] * (1 - quote["slippage"])
    assert quote["min_receive_amount"] == pytest.approx(least, abs=ROUNDING)
    asset = [quote[f"{end}_token"]["asset"] for end in ("source", "destination")]
    if asset[0] == asset[1]:
        remainder = quote["requested_amount"] - quote["total_fee"]
        assert quote["receive_amount"] == pytest.approx(remainder, abs=ROUNDING)


@rule("D5", "refuel-apart")
def test_a_refuel_is_paid_apart(world: World) -> None:
    route = world.token_route
    amount = world.amount(route, refuel="true")
    plain, with_refuel = quoted(world, route, amount), quoted(world, route, amount, refuel="true")

    assert plain["refuel"] is None
    assert plain["quote"]["refuel_in_source"] is None
    assert with_refuel["refuel"]["token"]["contract"] is None
    assert with_refuel["quote"]["refuel_in_source"] > 0
    parts = with_refuel["quote"]["blockchain_fee"] + with_refuel["quote"]["service_fee"]
    assert with_refuel["quote"]["total_fee"] == pytest.approx(parts, abs=ROUNDING)


@rule("D5", "provider")
def test_own_inventory_is_listed_as_the_solver(world: World) -> None:
    path = quoted(world, world.native_route)["quote"]["path"]

    assert [step["order"] for step in path] == sorted(step["order"] for step in path)
    assert all(step["provider"] == step["provider"].upper() for step in path)
    if {step["provider"] for step in path} != {"SOLVER"}:
        raise RequirementMissing("this route goes through a swap provider")
    # No other check can fail, because no refund_address is required.
    assert world.target.create(world.order())["quote"]["path"] == path


@rule("D3", "refund-address-required")
def test_a_route_through_a_provider_needs_a_refund_address(world: World) -> None:
    for route in (world.native_route, world.token_route, world.other_asset_route):
        path = quoted(world, route)["quote"]["path"]
        if any(step["provider"] != "SOLVER" for step in path):
            answer = world.target.ask("POST", "/api/v2/swaps", json=world.order(route))
            answer.refuses("REFUND_ADDRESS_REQUIRED")
            return
    raise RequirementMissing("no route here goes through a swap provider")


@rule("D5", "default-slippage")
def test_slippage_is_small_between_like_assets_and_larger_otherwise(world: World) -> None:
    route = world.native_route
    if route.source["asset"] != route.destination["asset"]:
        raise RequirementMissing("no coin here has a route to its like")

    assert quoted(world, route)["quote"]["slippage"] == 0.001
    assert quoted(world, world.other_asset_route)["quote"]["slippage"] == 0.005


@rule("D2", "price-parameters")
@pytest.mark.parametrize("endpoint", ["quote", "limits", "detailed_quote"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("refuel", "true"),
        ("slippage", "0.01"),
        ("source_address", "0x00000000000000000000000000000000000a11ce"),
        ("destination_address", "0x00000000000000000000000000000000000a11ce"),
        ("use_depository", "true"),
        ("use_deposit_address", "true"),
        ("use_gasless", "true"),
    ],
)
def test_every_price_takes_what_a_creation_does(
    world: World, endpoint: str, name: str, value: str
) -> None:
    routes = {
        "use_deposit_address": lambda: world.deposit_address_route,
        "use_gasless": lambda: world.gasless_route,
        "use_depository": lambda: world.native_route if world.usual_funding else None,
        "refuel": lambda: world.token_route,
    }
    route = routes.get(name, lambda: world.native_route)()
    if route is None:
        raise RequirementMissing("there is no Depository here")
    query = {**route.query, name: value}
    if endpoint == "quote":
        limiting = {name: value} if name.startswith("use_") or name == "refuel" else {}
        query["amount"] = world.amount(route, **limiting)

    assert world.target.ask("GET", f"/api/v2/{endpoint}", params=query).status == 200


@rule("D3", "too-little-held")
def test_too_low_inventory_is_distinguished_from_an_exceeded_limit(world: World) -> None:
    for route in world.routes:
        limits = world.target.ask("GET", "/api/v2/limits", params=route.query)
        if limits.status != 200:
            continue
        above = truncate(Decimal(str(limits.data["max_amount"])) * 2, route.source)
        query = {**route.query, "amount": above}
        answer = world.target.ask("GET", "/api/v2/quote", params=query)
        if answer.error["code"] == "INSUFFICIENT_LIQUIDITY":
            error = answer.refuses("INSUFFICIENT_LIQUIDITY")
            assert error["metadata"]["AmountLimit"] == limits.data["max_amount"]
            return
        answer.refuses("GREATER_THAN_MAX_ERROR")
    raise RequirementMissing("every route here holds more than it allows")


@rule("D2", "limits-with-amount")
def test_limits_do_not_depend_on_the_amount(world: World) -> None:
    route = world.native_route
    alone = world.limits(route)

    assert world.limits(route, amount=world.amount(route)) == alone
    assert 0 < alone["min_amount_in_usd"] < alone["max_amount_in_usd"]


@rule("D1", "rated-by-address")
def test_the_legacy_rate_is_counted_by_address(world: World) -> None:
    answer = world.target.ask("POST", "/api/swap_rate", key=None, json={})

    answer.refuses("VALIDATION_ERROR")
    assert int(answer.headers["ratelimit-limit"]) > 0


@rule("D1", "durations")
def test_the_time_it_takes_has_three_parts(world: World) -> None:
    assert len(quoted(world, world.native_route)["quote"]["avg_completion_time"].split(":")) == 3


@rule("D1", "chain-id")
def test_a_network_may_be_named_by_its_chain_id(world: World) -> None:
    route = world.native_route
    quote = quoted(
        world,
        route,
        source_network=route.source_network["chain_id"],
        destination_network=route.destination_network["chain_id"],
    )

    assert quote["quote"]["source_network"]["name"] == route.source_network["name"]
    assert quote["quote"]["destination_network"]["name"] == route.destination_network["name"]


@rule("D1", "token-address")
def test_a_token_may_be_named_by_its_contract(world: World) -> None:
    coin, token = world.native_route, world.token_route

    by_zero = quoted(world, coin, source_token=ZERO)["quote"]
    by_contract = quoted(world, token, source_token=token.source["contract"].lower())["quote"]

    assert by_zero["source_token"]["symbol"] == coin.source["symbol"]
    assert by_contract["source_token"]["symbol"] == token.source["symbol"]


@rule("D1", "cut-off")
def test_decimals_beyond_the_precision_are_cut_off(world: World) -> None:
    route = world.native_route
    amount = world.amount(route)
    dust = amount if "." in amount else f"{amount}."
    zeros = "0" * (int(route.source["precision"]) - len(dust.partition(".")[2]))

    quote = quoted(world, route, f"{dust}{zeros}999999999999")

    assert quote["quote"]["requested_amount"] == float(amount)


@rule("D1", "unknown-ignored")
def test_unknown_parameters_are_ignored(world: World) -> None:
    assert quoted(world, world.native_route, colour="blue", version="mainnet")["quote"]


@rule("D2", "slippage")
@pytest.mark.parametrize("slippage", ["0.0025", 0.0025, ".0025"])
def test_slippage_is_a_fraction(world: World, slippage: object) -> None:
    created = world.target.create(world.order(slippage=slippage))

    assert created["quote"]["slippage"] == 0.0025
