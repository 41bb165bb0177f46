from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from faststream import AckPolicy
from pydantic import SecretStr

from services.settler.tests.factories import a_catalogue_document
from swap_runtime.process.service import Service
from swap_runtime.settings import KafkaSettings, OperatorSettings, RedisSettings
from swap_settler.app import build
from swap_settler.settings import SettlerGroup, SettlerSettings

NOWHERE = SecretStr("postgresql+psycopg://nobody@127.0.0.1:1/none")


@pytest.fixture
async def service(tmp_path: Path) -> Service:
    catalogue = tmp_path / "catalogue.yaml"
    catalogue.write_text(json.dumps(a_catalogue_document()))
    settings = SettlerSettings(
        kafka=KafkaSettings(bootstrap_servers="k:9092"),
        redis=RedisSettings(url=SecretStr("redis://r")),
        operator=OperatorSettings(token=SecretStr("t")),
        catalogue=catalogue,
        settler=SettlerGroup.model_validate(
            {"database_url": NOWHERE, "internal_port": 0, "quoter_url": "http://127.0.0.1:1"}
        ),
    )
    service = Service("settler", settings, settings.settler)
    await build(service)
    return service


async def test_consumes_its_topics_at_least_once_from_the_start(service: Service) -> None:
    subscribers: list[Any] = list(service.subscriptions.broker.subscribers)

    assert {name for subscriber in subscribers for name in map(_name, subscriber.topics)} == {
        "swap.requests.v1",
        "deposit.changed.v1",
        "payout.changed.v1",
    }
    for subscriber in subscribers:
        assert subscriber.ack_policy is AckPolicy.NACK_ON_ERROR
        assert subscriber._connection_args["auto_offset_reset"] == "earliest"
    for close in service.closers:
        await close()


async def test_looks_at_deadlines_and_answers_operators(service: Service) -> None:
    rounds = {task.name for task in service.tasks}
    assert {"expire-swaps", "report-signers", "guard-losses"} <= rounds
    read = {(route.method, route.path) for route in service.admin_routes}
    assert read | {("POST", route.path) for route in service.order_routes} == {
        ("GET", "/swaps/{id}"),
        ("GET", "/claimable"),
        ("GET", "/claimable/{id}"),
        ("GET", "/deposits/{id}"),
        ("GET", "/fees"),
        ("GET", "/fees/{id}"),
        ("POST", "/fees/{id}/pay"),
        ("POST", "/payouts/queue/{id}/pass"),
        ("GET", "/stuck"),
        ("GET", "/assets"),
        ("GET", "/balances"),
        ("GET", "/balances/accounts"),
        ("GET", "/balances/waiting"),
        ("GET", "/losses"),
        ("GET", "/invariants"),
        ("GET", "/signers"),
        ("GET", "/signers/{network}/{address}/nonces"),
        ("POST", "/signers/{network}/resume"),
        ("POST", "/claimable/{id}/pay"),
        ("POST", "/claimable/{id}/attach"),
        ("GET", "/payouts/stops"),
        ("POST", "/payouts/stop"),
        ("POST", "/payouts/go"),
        ("GET", "/closures"),
        ("POST", "/closures/close"),
        ("POST", "/closures/open"),
        ("POST", "/payouts/explain"),
        ("GET", "/payouts/queue"),
        ("GET", "/payouts/queue/{id}"),
        ("POST", "/payouts/queue/{id}/pass"),
        ("GET", "/blocked"),
        ("GET", "/blocked/{address}"),
        ("POST", "/blocked"),
        ("POST", "/blocked/lift"),
        ("POST", "/sweeps"),
        ("GET", "/recovery"),
        ("GET", "/recovery/held"),
        ("POST", "/recovery/{id}/finish"),
        ("POST", "/recovery/retained/{id}/release"),
        ("GET", "/rescues"),
        ("GET", "/rescues/{network}/{hash}"),
        ("POST", "/rescues/{network}/{hash}"),
        ("GET", "/caps"),
        ("GET", "/caps/{id}/spent"),
        ("POST", "/caps"),
        ("POST", "/caps/lift"),
    }
    for close in service.closers:
        await close()


async def test_budget_of_an_unknown_network_is_refused(service: Service) -> None:
    settings: Any = service.settings
    group = settings.settler.model_copy(update={"loss_budgets_usd": {"ETHERUM_DEVNET": 1}})
    wrong = settings.model_copy(update={"settler": group})

    refused = Service("settler", wrong, group)
    with pytest.raises(ValueError, match="ETHERUM_DEVNET"):
        await build(refused)

    for close in (*refused.closers, *service.closers):
        await close()


async def test_unknown_retired_signer_is_refused(service: Service) -> None:
    settings: Any = service.settings
    unknown = "0x00000000000000000000000000000000000000EE"
    group = settings.settler.model_copy(update={"retired_signers": frozenset({unknown})})
    wrong = settings.model_copy(update={"settler": group})

    refused = Service("settler", wrong, group)
    with pytest.raises(ValueError, match=f"no signer of the catalogue: {unknown}"):
        await build(refused)

    for close in (*refused.closers, *service.closers):
        await close()


def _name(topic: Any) -> str:
    return str(getattr(topic, "name", topic))
