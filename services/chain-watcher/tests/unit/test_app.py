"""The parts of the process."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import pytest
from faststream import AckPolicy
from watch_factories import NETWORK, a_network, a_token

from swap_chain_watcher.app import NAME, add_to
from swap_chain_watcher.settings import ChainWatcherSettings
from swap_domain.catalogue import NATIVE, Catalogue, Contracts
from swap_runtime.operators.admin_routes import OperatorOrder
from swap_runtime.process.service import Service

OTHER = "BASE_DEVNET"


@pytest.fixture
def catalogue() -> Catalogue:
    contracts = Contracts(treasury=a_network().contracts.treasury, depository=None)
    native = a_token(network=OTHER, symbol="ETH", address=NATIVE, decimals=18)
    networks = {
        NETWORK: a_network(),
        OTHER: a_network(name=OTHER, chain_id=31338, contracts=contracts, tokens=(native,)),
    }
    return Catalogue(
        environment="test",
        swap_lifetime=timedelta(hours=6),
        networks=MappingProxyType(networks),
        routes=(),
    )


@pytest.fixture
async def service(settings: ChainWatcherSettings, catalogue: Catalogue) -> Service:
    service = Service(
        NAME, settings, settings.chain_watcher, clock=lambda: datetime(2026, 1, 1, tzinfo=UTC)
    )
    await add_to(service, settings.chain_watcher, catalogue, {OTHER: ("http://127.0.0.1:1",)})
    for close in service.closers:
        await close()
    return service


@pytest.mark.fault("W28")
async def test_each_network_is_followed_under_its_own_lease(service: Service) -> None:
    assert {task.name for task in service.tasks} == {
        *(f"watch:{network}" for network in (NETWORK, OTHER)),
        *(f"check:{network}" for network in (NETWORK, OTHER)),
        "prune-blocks",
        "report",
        "report-trust",
        "repeat-hints",
    }
    assert set(service.note_checks) == {f"network {NETWORK}", f"network {OTHER}"}


async def test_verifies_deposits_where_a_second_provider_is_configured(
    settings: ChainWatcherSettings, catalogue: Catalogue
) -> None:
    service = Service(NAME, settings, settings.chain_watcher)
    nodes = {OTHER: ("http://one.example", "http://two.example")}
    await add_to(service, settings.chain_watcher, catalogue, nodes)
    for close in service.closers:
        await close()

    names = {task.name for task in service.tasks}
    assert {name for name in names if name.startswith("verify:")} == {f"verify:{OTHER}"}


async def test_consumes_at_least_once_and_from_the_start(service: Service) -> None:
    subscribers: list[Any] = list(service.subscriptions.broker.subscribers)

    assert sorted(name for one in subscribers for name in one.topic_names) == [
        "deposit-target.assigned.v1",
        "deposit.hinted.v1",
    ]
    for one in subscribers:
        assert len(one.topic_names) == 1
        assert one.ack_policy is AckPolicy.NACK_ON_ERROR
        assert one._connection_args["auto_offset_reset"] == "earliest"


async def test_operators_have_two_routes(service: Service) -> None:
    assert {(route.method, route.path) for route in service.admin_routes} == {("GET", "/networks")}
    assert [route.path for route in service.order_routes] == ["/networks/{network}/resume"]


async def test_lifting_a_halt_needs_two_operators_by_default(
    settings: ChainWatcherSettings, catalogue: Catalogue
) -> None:
    reasons = []
    for needs_two in (settings.chain_watcher.resuming_needs_two, False):
        group = settings.chain_watcher.model_copy(update={"resuming_needs_two": needs_two})
        service = Service(NAME, settings, group)
        await add_to(service, group, catalogue, {OTHER: ("http://127.0.0.1:1",)})
        for close in service.closers:
            await close()
        [route] = service.order_routes
        assert route.needs_second is not None
        reasons.append(await route.needs_second(OperatorOrder("ann", {"network": NETWORK}, b"")))

    assert [why is None for why in reasons] == [False, True]


async def test_reverting_logs_needs_a_reason_that_the_second_operator_sees(
    service: Service,
) -> None:
    [route] = service.order_routes
    assert route.needs_second is not None
    take_back = ["0x" + "AB" * 32]
    target = {"network": NETWORK}
    order = OperatorOrder(
        "ann", target, json.dumps({"take_back": take_back, "reason": "a lie"}).encode()
    )
    why = await route.needs_second(order)
    refused = [
        await route.carry_out(OperatorOrder("ann", target, json.dumps(body).encode()))
        for body in (
            {"take_back": take_back},
            {"take_back": take_back, "reason": " "},
            {"take_back": ["0x1"], "reason": "a lie"},
            {"take_back": take_back * 51, "reason": "a lie"},
            {"unknown": 1},
        )
    ]

    assert why is not None
    assert why.startswith("published deposits are taken back")
    assert {response.status_code for response in refused} == {400}


def test_nodes_are_polled_ten_times_a_second_by_default(
    settings: ChainWatcherSettings,
) -> None:
    assert settings.chain_watcher.poll_interval == timedelta(milliseconds=100)
