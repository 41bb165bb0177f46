"""Networks, tokens and routes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.conformance.signing import RequirementMissing
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
    networks = world.target.ask("GET", "/api/v2/networks", params=query).data

    expected = [n["name"] for n in world.networks if n["type"] in ("evm", "solana")]
    assert [network["name"] for network in networks] == expected


@rule("4.2", "network-types")
def test_networks_are_listed_by_each_type(world: World) -> None:
    for kind in enums()["NetworkType"]:
        query = {"network_types": kind}
        networks = world.target.ask("GET", "/api/v2/networks", params=query).data
        assert {network["type"] for network in networks} <= {kind}


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
    answer = world.target.get(
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

    reached = {(n["name"], t["symbol"]) for n in answer for t in n["tokens"]}
    assert (route["destination_network"], route["destination_token"]) in reached
    start = {(n["name"], t["symbol"]) for n in back for t in n["tokens"]}
    assert (route["source_network"], route["source_token"]) in start
    assert start <= {(n["name"], t["symbol"]) for n in alone for t in n["tokens"]}
    assert {network["type"] for network in none} <= {"stellar"}
    assert {t["status"] for n in answer for t in n["tokens"]} == {"active"}


@rule("D2", "unmatched")
def test_unreachable_tokens_are_listed_on_request(world: World) -> None:
    route = world.native_route.query
    query = {"source_network": route["source_network"], "source_token": route["source_token"]}
    reachable = world.target.get("/api/v2/destinations", "[ReachableNetworkModel]", **query)
    more = world.target.get(
        "/api/v2/destinations", "[ReachableNetworkModel]", **query, include_unmatched="true"
    )

    matched = {(n["name"], t["symbol"]) for n in reachable for t in n["tokens"]}
    states = {(n["name"], t["symbol"]): t["status"] for n in more for t in n["tokens"]}
    assert matched <= set(states)
    assert {states[one] for one in matched} == {"active"}
    assert {states[one] for one in set(states) - matched} <= {"not_found"}


@rule("D2", "reaches-by-address")
@pytest.mark.parametrize("name", ["has_deposit_address", "include_swaps_via_deposit_address"])
def test_sources_may_be_those_with_deposit_addresses(world: World, name: str) -> None:
    reachable = world.target.get("/api/v2/sources", "[ReachableNetworkModel]", **{name: "true"})

    assert all("deposit_address" in network["deposit_methods"] for network in reachable)


@rule("D2", "reaches-by-address")
@pytest.mark.parametrize("name", ["has_deposit_address", "include_swaps_via_deposit_address"])
def test_destinations_may_be_those_that_deposit_addresses_reach(world: World, name: str) -> None:
    kind = "[ReachableNetworkModel]"
    reachable = world.target.get("/api/v2/destinations", kind, **{name: "true"})
    offering = [n for n in world.networks if "deposit_address" in n["deposit_methods"]]
    starts = [
        world.target.get("/api/v2/destinations", kind, source_network=network["name"])
        for network in offering
    ]

    def ends(networks: Any) -> set[tuple[str, str]]:
        return {(n["name"], t["symbol"]) for n in networks for t in n["tokens"]}

    assert ends(reachable) == set().union(*map(ends, starts))


@rule("D2", "unavailable")
@pytest.mark.parametrize("path", ["sources", "destinations"])
def test_inactive_tokens_are_listed_on_request(world: World, path: str) -> None:
    kind = "[ReachableNetworkModel]"
    usual = world.target.get(f"/api/v2/{path}", kind)
    more = world.target.get(f"/api/v2/{path}", kind, include_unavailable="true")
    states = {(n["name"], t["symbol"]): t["status"] for n in more for t in n["tokens"]}
    active = {(n["name"], t["symbol"]) for n in usual for t in n["tokens"]}

    assert active <= set(states)
    assert {states[one] for one in active} == {"active"}
    assert {states[one] for one in set(states) - active} <= {"inactive"}


@rule("D2", "inactive")
def test_a_closed_route_is_listed_as_inactive(world: World) -> None:
    kind = "[ReachableNetworkModel]"
    for network in world.networks:
        for token in network["tokens"]:
            query = {"source_network": network["name"], "source_token": token["symbol"]}
            more = world.target.get(
                "/api/v2/destinations", kind, **query, include_unavailable="true"
            )
            usual = world.target.get("/api/v2/destinations", kind, **query)
            shown = {(n["name"], t["symbol"]) for n in usual for t in n["tokens"]}
            closed = [
                (n["name"], t["symbol"])
                for n in more
                for t in n["tokens"]
                if t["status"] == "inactive"
            ]
            if closed:
                assert not shown & set(closed)
                ends = {"destination_network": closed[0][0], "destination_token": closed[0][1]}
                answer = world.target.ask("GET", "/api/v2/limits", params={**query, **ends})
                answer.refuses("ROUTE_NOT_FOUND_ERROR")
                return
    raise RequirementMissing("every route here is in service")


@rule("D2", "other-filters")
@pytest.mark.parametrize("path", ["sources", "destinations"])
def test_providers_can_be_included_and_types_filtered(world: World, path: str) -> None:
    kind = "[ReachableNetworkModel]"
    usual = world.target.get(f"/api/v2/{path}", kind)
    wider = world.target.get(f"/api/v2/{path}", kind, include_swaps="true", network_types="evm")

    assert {n["name"] for n in usual if n["type"] == "evm"} <= {n["name"] for n in wider}
    assert {n["type"] for n in wider} <= {"evm"}


@rule("D2", "reach-unknown")
@pytest.mark.parametrize(
    ("path", "query", "code"),
    [
        ("destinations", {"source_network": "NOWHERE_MAINNET"}, "ROUTE_NOT_FOUND_ERROR"),
        ("sources", {"destination_network": "NOWHERE_MAINNET"}, "ROUTE_NOT_FOUND_ERROR"),
        ("destinations", {"source_token": "USDC"}, "VALIDATION_ERROR"),
        ("sources", {"destination_token": "USDC"}, "VALIDATION_ERROR"),
        ("sources", {"network_types": "bicycle"}, "VALIDATION_ERROR"),
    ],
)
def test_an_other_end_that_is_none_is_refused(
    world: World, path: str, query: dict[str, str], code: str
) -> None:
    world.target.ask("GET", f"/api/v2/{path}", params=query).refuses(code)


@rule("D2", "status-names")
def test_the_status_names_every_network(world: World) -> None:
    networks = world.target.get("/api/v2/status", "Status")["networks"]

    assert {one["name"] for one in networks} == {network["name"] for network in world.networks}


@rule("D2", "no-exchanges")
def test_exchanges_are_an_empty_list_until_there_are_some(world: World) -> None:
    exchanges = world.target.ask("GET", "/api/v2/source_exchanges").data
    assert isinstance(exchanges, list)
    if exchanges:
        raise RequirementMissing("this catalogue names exchanges")
    assert world.target.ask("GET", "/api/v2/exchange_withdrawal_networks").data == []
