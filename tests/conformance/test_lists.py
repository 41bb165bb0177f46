"""Lists of swaps, with their filters and pages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.conformance.world import World, new_address

rule = pytest.mark.rule
ONE_DAY = timedelta(days=1)
PAGE_SIZE = 20
LIST = "/api/v2/swaps"


def id_of(prepared: Mapping[str, Any]) -> str:
    return str(prepared["swap"]["id"])


def listed(world: World, **query: Any) -> list[Mapping[str, Any]]:
    return list(world.target.get(LIST, "[PreparedSwapResponse]", **query))


@rule("D2", "list-filters")
def test_swaps_are_listed_by_each_filter(world: World) -> None:
    swap_id, swap = id_of(world.swap), world.swap["swap"]
    query: dict[str, Any] = {"address": world.recipient}
    made = datetime.fromisoformat(swap["created_date"])

    def found(**more: Any) -> list[str]:
        return [id_of(one) for one in listed(world, **query, **more)]

    assert found() == [swap_id]
    assert found(statuses="user_transfer_pending") == [swap_id]
    assert found(statuses=["PendingDeposit", "Completed"]) == [swap_id]
    assert found(statuses="completed") == []
    assert found(networks=swap["source_network"]["name"]) == [swap_id]
    assert found(reference_id="conformance") == [swap_id]
    assert found(reference_id="nothing") == []
    assert found(created_after=(made - ONE_DAY).isoformat()) == [swap_id]
    assert found(created_before=(made - ONE_DAY).isoformat()) == []
    assert listed(world, address=[new_address(), world.recipient])


@rule("D2", "list-filters")
@pytest.mark.parametrize(
    "word",
    [
        "PendingDeposit",
        "PendingWithdrawal",
        "PendingRefund",
        "Completed",
        "Failed",
        "Expired",
        "Refunded",
        "user_transfer_pending",
        "ls_transfer_pending",
        "pending_refund",
        "completed",
        "failed",
        "expired",
        "refunded",
    ],
)
def test_lists_accept_both_vocabularies(world: World, word: str) -> None:
    states = {
        "pendingdeposit": "user_transfer_pending",
        "pendingwithdrawal": "ls_transfer_pending",
        "pendingrefund": "pending_refund",
    }
    expected = states.get(word.lower(), word.lower())

    assert {one["swap"]["status"] for one in listed(world, statuses=word)} <= {expected}


@rule("D2", "list-case")
def test_an_address_is_found_in_whatever_case(world: World) -> None:
    swap_id = id_of(world.swap)
    shouted = "0x" + world.recipient[2:].upper()

    assert [id_of(one) for one in listed(world, address=shouted)] == [swap_id]


@rule("D2", "list-items")
def test_items_of_a_list_have_no_actions(world: World) -> None:
    assert id_of(world.swap)
    for one in listed(world):
        assert (one["deposit_actions"], one["next_action"]) == ([], None)


@rule("D2", "internal")
def test_the_alias_lists_by_addresses(world: World) -> None:
    path, kind = "/api/v2/swaps/internal", "[PreparedSwapResponse]"
    swap_id = id_of(world.swap)

    answer = world.target.get(path, kind, addresses=world.recipient)
    assert [id_of(one) for one in answer] == [swap_id]
    assert world.target.get(path, kind) == []


@rule("D1", "newest-first")
@rule("D1", "paging")
def test_pages_follow_one_another(world: World) -> None:
    assert id_of(world.swap) != id_of(world.token_swap)
    now = datetime.now(UTC).isoformat()
    query = {"page_size": 1, "created_before": now}
    first = world.target.ask("GET", "/api/v2/swaps", params=query)
    second = world.target.ask("GET", "/api/v2/swaps", params={**query, "page": 2})
    beyond = world.target.ask("GET", "/api/v2/swaps", params={"page": 1_000})

    made = [one.data[0]["swap"]["created_date"] for one in (first, second)]
    assert made == sorted(made, reverse=True)
    assert id_of(first.data[0]) != id_of(second.data[0])
    assert int(first.headers["x-total-count"]) >= 2
    assert 'rel="next"' in first.headers["link"]
    assert 'rel="prev"' in second.headers["link"]
    assert beyond.data == []


@rule("D1", "page-size")
def test_a_page_has_twenty_rows_by_default(world: World) -> None:
    assert id_of(world.swap)
    query = {"page_size": 100}
    whole = world.target.ask("GET", LIST, params=query)
    usual = world.target.ask("GET", LIST)

    assert len(usual.data) == min(PAGE_SIZE, int(usual.headers["x-total-count"]))
    assert len(whole.data) == min(100, int(whole.headers["x-total-count"]))


@rule("D2", "list-parties")
@pytest.mark.parametrize("name", ["source_address", "destination_address", "refund_address"])
def test_a_swap_is_found_by_each_of_its_addresses(world: World, name: str) -> None:
    parties = world.swap_of_three
    found = [id_of(one) for one in listed(world, address=parties.addresses[name])]

    assert found == [id_of(parties.created)]


@rule("D2", "reference-label")
def test_a_reference_is_a_label_and_no_idempotency_key(world: World) -> None:
    reference = f"label-{new_address()}"
    made = {id_of(world.target.create(world.order(reference_id=reference))) for _ in "12"}

    assert {id_of(one) for one in listed(world, reference_id=reference)} == made
    assert len(made) == 2
