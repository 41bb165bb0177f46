"""Networks, tokens, and what leads where."""

from __future__ import annotations

import re

import pytest

from tests.conformance.signing import Lacking
from tests.conformance.tables import enums
from tests.conformance.world import World

rule = pytest.mark.rule
ZERO = "0x" + "0" * 40


@rule("2.11", "metadata-listing")
def test_networks_have_their_own_coin(world: World) -> None:
    for network in world.networks:
        assert network["token"]["contract"] is None
        assert network["token"]["symbol"] in {token["symbol"] for token in network["tokens"]}


@rule("2.12", "gasless-standard")
def test_tokens_name_their_gasless_standard(world: World) -> None:
    for network in world.networks:
        for token in network["tokens"]:
            expected = ("eip3009", "eip2612") if token["supports_gasless_deposit"] else ("",)
            assert token["gasless_standard"] in expected


@rule("8", "permit2")
def test_no_token_is_deposited_by_permit2(world: World) -> None:
    standards = {t["gasless_standard"] for n in world.networks for t in n["tokens"]}

    assert not {standard for standard in standards if "permit2" in standard}


@rule("4.2", "network-types")
@pytest.mark.parametrize("joined", ["evm", "evm,solana", None])
def test_networks_are_filtered_by_type(world: World, joined: str | None) -> None:
    query = {"network_types": joined or ["evm", "solana"]}
    told = world.target.ask("GET", "/api/v2/networks", params=query).data

    expected = [n["name"] for n in world.networks if n["type"] in ("evm", "solana")]
    assert [network["name"] for network in told] == expected


@rule("4.2", "network-types")
def test_every_type_of_network_may_be_asked_for(world: World) -> None:
    for kind in enums()["NetworkType"]:
        query = {"network_types": kind}
        told = world.target.ask("GET", "/api/v2/networks", params=query).data
        assert {network["type"] for network in told} <= {kind}


@rule("D2", "evm-networks")
def test_an_evm_network_can_be_reached(world: World) -> None:
    for network in (n for n in world.networks if n["type"] == "evm"):
        assert re.fullmatch(r"[1-9]\d*", network["chain_id"])
        assert network["nodes"]
        assert network["node_url"] == network["nodes"][0]
        assert all(node.startswith(("http://", "https://")) for node in network["nodes"])
        assert set(network["deposit_methods"]) <= {"wallet", "deposit_address"}


@rule("D2", "templates")
def test_explorer_templates_have_one_place(world: World) -> None:
    for network in world.networks:
        for name in ("transaction_explorer_template", "account_explorer_template"):
            template = network[name]
            assert template == "" or re.fullmatch(r"https?://[^{}]*\{0\}[^{}]*", template)


@rule("D2", "ranks")
def test_nothing_of_a_listing_is_null(world: World) -> None:
    for network in world.networks:
        natives = [token for token in network["tokens"] if token["contract"] is None]
        assert [token["symbol"] for token in natives] == [network["token"]["symbol"]]
        assert all(token["contract"] != ZERO for token in network["tokens"])


@rule("D1", "precision")
def test_precision_survives_a_double(world: World) -> None:
    for network in world.networks:
        for token in network["tokens"]:
            assert float(token["precision"]).is_integer()
            assert 0 <= token["precision"] <= min(token["decimals"], 8)


@rule("D2", "sources")
def test_sources_and_destinations_are_filtered_by_each_other(world: World) -> None:
    route = world.native_route.query
    told = world.target.get(
        "/api/v2/destinations",
        "[ReachableNetworkModel]",
        source_network=route["source_network"],
        source_token=route["source_token"],
    )
    back = world.target.get(
        "/api/v2/sources",
        "[ReachableNetworkModel]",
        destination_network=route["destination_network"],
        destination_token=route["destination_token"],
    )
    alone = world.target.get(
        "/api/v2/sources",
        "[ReachableNetworkModel]",
        destination_network=route["destination_network"],
    )
    none = world.target.get("/api/v2/sources", "[ReachableNetworkModel]", network_types="stellar")

    reached = {(n["name"], t["symbol"]) for n in told for t in n["tokens"]}
    assert (route["destination_network"], route["destination_token"]) in reached
    start = {(n["name"], t["symbol"]) for n in back for t in n["tokens"]}
    assert (route["source_network"], route["source_token"]) in start
    assert start <= {(n["name"], t["symbol"]) for n in alone for t in n["tokens"]}
    assert {network["type"] for network in none} <= {"stellar"}
    assert {t["status"] for n in told for t in n["tokens"]} == {"active"}


@rule("D2", "unmatched")
def test_what_no_route_leads_to_may_be_asked_for(world: World) -> None:
    route = world.native_route.query
    query = {"source_network": route["source_network"], "source_token": route["source_token"]}
    told = world.target.get("/api/v2/destinations", "[ReachableNetworkModel]", **query)
    more = world.target.get(
        "/api/v2/destinations", "[ReachableNetworkModel]", **query, include_unmatched="true"
    )

    matched = {(n["name"], t["symbol"]) for n in told for t in n["tokens"]}
    states = {(n["name"], t["symbol"]): t["status"] for n in more for t in n["tokens"]}
    assert matched <= set(states)
    assert {states[one] for one in matched} == {"active"}
    assert {states[one] for one in set(states) - matched} <= {"not_found"}


@rule("D2", "reaches-by-address")
@pytest.mark.parametrize("name", ["has_deposit_address", "include_swaps_via_deposit_address"])
def test_sources_may_be_those_with_deposit_addresses(world: World, name: str) -> None:
    told = world.target.get("/api/v2/sources", "[ReachableNetworkModel]", **{name: "true"})

    assert all("deposit_address" in network["deposit_methods"] for network in told)


@rule("D2", "no-exchanges")
def test_exchanges_are_an_empty_list_until_there_are_some(world: World) -> None:
    told = world.target.ask("GET", "/api/v2/source_exchanges").data
    assert isinstance(told, list)
    if told:
        raise Lacking("this catalogue names exchanges")
    assert world.target.ask("GET", "/api/v2/exchange_withdrawal_networks").data == []
