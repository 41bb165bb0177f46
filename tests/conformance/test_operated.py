"""Effects of an operator's orders for callers; each order is undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance.development import Operator
from tests.conformance.target import Answer
from tests.conformance.world import World, new_address

rule = pytest.mark.rule
CREATE = "/api/v2/swaps"
PRIVATE_URLS = (
    "http://10.0.0.1/hooks",
    "http://192.168.1.1/hooks",
    "http://169.254.169.254/latest/meta-data",
    "http://100.64.0.1/hooks",
    "http://[fd00::1]/hooks",
    "http://[::ffff:10.0.0.1]/hooks",
    "http://0x0a000001/hooks",
    "http://user:word@93.184.216.34/hooks",
    "ftp://93.184.216.34/hooks",
)


def once(world: World, ask: Callable[[], Answer], *, refused: bool) -> Answer:
    """Return the first answer that is refused, or accepted: an order takes a moment to apply."""
    answers: list[Answer] = []

    def is_so() -> bool:
        answers.append(ask())
        return (answers[-1].status != 200) is refused

    world.wait_for(is_so)
    return answers[-1]


@rule("D3", "payouts-paused")
def test_no_swap_begins_whose_payout_is_stopped(world: World, operator: Operator) -> None:
    route, order = world.native_route, world.order()
    price = {**route.query, "amount": order["amount"]}

    def create() -> Answer:
        return world.target.ask("POST", CREATE, json=order)

    with operator.stop_payments(route.destination_network["name"]):
        error = once(world, create, refused=True)
        error.refuses("PAYOUTS_PAUSED")
        assert int(error.headers["retry-after"]) >= 1
        assert world.target.ask("GET", "/api/v2/quote", params=price).status == 200
        networks = world.target.get("/api/v2/status", "Status")["networks"]
        assert [
            n["payouts"] for n in networks if n["name"] == route.destination_network["name"]
        ] == ["stopped"]

    assert once(world, create, refused=False).status == 200


@rule("D3", "blacklisted")
def test_blacklisted_address_gets_no_quote_and_no_swap(world: World, operator: Operator) -> None:
    blocked, order = new_address(), world.order()
    names = ("destination_address", "refund_address", "source_address")
    price = {**world.native_route.query, "amount": order["amount"], "destination_address": blocked}

    def create(name: str = "destination_address") -> Answer:
        return world.target.ask("POST", CREATE, json={**order, name: blocked})

    with operator.block_address(blocked):
        once(world, create, refused=True)
        for name in names:
            error = create(name).refuses("BLACKLISTED_ADDRESS")
            assert name in error["metadata"]["field_errors"]
        world.target.ask("GET", "/api/v2/quote", params=price).refuses("BLACKLISTED_ADDRESS")

    assert once(world, create, refused=False).status == 200


@rule("D6", "endpoint-urls")
@pytest.mark.parametrize("url", PRIVATE_URLS)
def test_no_webhook_goes_to_a_private_address(operator: Operator, url: Any) -> None:
    assert operator.refuses_endpoint(url)
