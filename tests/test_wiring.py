"""Every consumed topic reaches its use case, typed, through FastStream's own test broker.

That broker has no offsets: delivery is tested on Kafka (`libs/runtime/tests/integration`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from faststream import AckPolicy
from faststream.kafka import TestKafkaBroker

from libs.contracts.tests.examples import AT, a_swap_changed
from libs.contracts.tests.test_wire import PINNED
from libs.runtime.tests.fakes import FakeParking
from swap_api.swaps.handlers import swaps as api_swaps
from swap_chain_watcher.handlers import deposit_hints, deposit_targets
from swap_contracts import topics
from swap_contracts.envelope import Envelope, Message, Topic
from swap_notifier.handlers import swaps as notifier_swaps
from swap_quoter.handlers import inventory
from swap_quoter.handlers import swaps as quoter_swaps
from swap_runtime.messaging.consuming import Subscriptions
from swap_runtime.settings import KafkaSettings
from swap_settler.settling.handlers import deposits, payouts, requests

ROOT = Path(__file__).parents[1]
KAFKA = KafkaSettings(bootstrap_servers="127.0.0.1:1")
Subscribe = Callable[..., None]
WIRING: Sequence[tuple[Subscribe, str, Topic[Any]]] = [
    (api_swaps.subscribe, "store_swaps", topics.SWAP_CHANGED),
    (deposit_hints.subscribe, "record_hints", topics.DEPOSIT_HINTED),
    (deposit_targets.subscribe, "record_targets", topics.DEPOSIT_TARGET_ASSIGNED),
    (notifier_swaps.subscribe, "create_messages", topics.SWAP_CHANGED),
    (inventory.subscribe, "record_inventory", topics.INVENTORY_CHANGED),
    (quoter_swaps.subscribe, "record_completions", topics.SWAP_TIMING),
    (deposits.subscribe, "settle_deposits", topics.DEPOSIT_CHANGED),
    (payouts.subscribe, "settle_payouts", topics.PAYOUT_CHANGED),
    (requests.subscribe, "request_swaps", topics.SWAP_REQUESTS),
]
# By name: the topic as its sender declares it, and a body.
SENT: dict[str, tuple[Topic[Any], Message]] = {
    topics.SWAP_CHANGED.name: (topics.SWAP_CHANGED, a_swap_changed()),
    **{topic.name: (topic, body) for topic, body, *_ in PINNED},
}


class RecordBatches:
    """Any use case: it stores the batches that it is called with."""

    def __init__(self) -> None:
        self.batches: list[Sequence[Envelope[Any]]] = []

    async def __call__(self, messages: Sequence[Envelope[Any]]) -> None:
        self.batches.append(messages)


@pytest.mark.parametrize(("subscribe", "argument", "topic"), WIRING)
async def test_a_batch_reaches_its_use_case(
    subscribe: Subscribe, argument: str, topic: Topic[Any]
) -> None:
    subscriptions, usecase, parking = Subscriptions(KAFKA), RecordBatches(), FakeParking()
    subscribe(subscriptions, parking=parking, **{argument: usecase})
    sender, body = SENT[topic.name]
    sealed = [sender.seal(body, version=n, occurred_at=AT, trace_id="t") for n in (1, 2)]

    async with TestKafkaBroker(subscriptions.broker) as broker:
        await broker.publish_batch(
            *(each.model_dump_json().encode() for each in sealed), topic=topic.name
        )

    read = [topic.envelope.model_validate_json(each.model_dump_json()) for each in sealed]
    assert [list(batch) for batch in usecase.batches] == [read]
    assert parking.parked == []


@pytest.mark.parametrize(("subscribe", "argument", "topic"), WIRING)
async def test_unreadable_message_is_parked(
    subscribe: Subscribe, argument: str, topic: Topic[Any]
) -> None:
    subscriptions, usecase, parking = Subscriptions(KAFKA), RecordBatches(), FakeParking()
    subscribe(subscriptions, parking=parking, **{argument: usecase})

    async with TestKafkaBroker(subscriptions.broker) as broker:
        await broker.publish_batch(b"\xff{", topic=topic.name)

    assert usecase.batches == []
    assert [value for value, _ in parking.parked] == [b"\xff{"]


@pytest.mark.parametrize(("subscribe", "argument", "topic"), WIRING)
def test_a_subscriber_acknowledges_after_its_handler(
    subscribe: Subscribe, argument: str, topic: Topic[Any]
) -> None:
    subscriptions = Subscriptions(KAFKA)
    subscribe(subscriptions, parking=FakeParking(), **{argument: RecordBatches()})

    [subscriber] = subscriptions.broker.subscribers
    assert subscriber.ack_policy is AckPolicy.NACK_ON_ERROR
    assert [each.name for each in subscriber.topics] == [topic.name]  # type: ignore[attr-defined]


def test_every_call_of_consume_is_wired_here() -> None:
    calls = [
        ast.unparse(node.args[1])
        for file in sorted(ROOT.glob("services/*/src/**/*.py"))
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "consume"
    ]

    constants = {id(value): name for name, value in vars(topics).items()}
    assert sorted(calls) == sorted(constants[id(topic)] for *_, topic in WIRING)
