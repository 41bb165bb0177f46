"""Two versions of a service run at once: neither repeats a change of the other."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from services.settler.tests.lane_harness import PAYOUT, World, a_deposit, a_funding
from swap_contracts.envelope import Envelope
from swap_contracts.topics import DEPOSIT_CHANGED
from swap_contracts.tracing import trace_id_of

pytestmark = [pytest.mark.connected, pytest.mark.fault("M10")]
NUMBERS = (1, 2, 3)


def of_a_later_version(message: Envelope[Any]) -> Envelope[Any]:
    """Return a message of a later version of its sender, as this version reads it."""
    written = json.loads(message.model_dump_json())
    written |= {"colour": "red", "body": {**written["body"], "colour": "red"}}
    return DEPOSIT_CHANGED.envelope.model_validate_json(json.dumps(written))


async def test_m10_messages_of_both_versions_are_settled_and_paid_once(world: World) -> None:
    for number in NUMBERS:
        await world.request_swap(number)
    await world.settle(a_funding(10**24))
    deposits = [a_deposit(number) for number in NUMBERS]

    await asyncio.gather(
        world.settle(*deposits),
        world.settle(*map(of_a_later_version, reversed(deposits))),
    )
    await asyncio.gather(*(world.new_process()(epoch=world.epoch) for _ in range(2)))
    await world.send_everything()
    world.chain.mine()

    assert [world.paid_amount(number) for number in NUMBERS] == [PAYOUT] * len(NUMBERS)
    [carried] = await world.rows("SELECT count(*) FROM slot_intent")
    assert carried.count == len(NUMBERS)


async def test_m10_payment_that_the_other_version_assigned_gets_no_second_nonce(
    world: World,
) -> None:
    await world.confirmed_swaps(len(NUMBERS))
    seen = await world.store.due(limit=10)
    await world.send_everything()

    assigned = await world.store.assign([tuple(seen.payments)], epoch=world.epoch)

    assert assigned == []
    assert len(await world.rows("SELECT 1 FROM nonce_slot")) == 1


async def test_m10_newer_rows_of_the_other_version_stay(world: World) -> None:
    await world.request_swap(1)
    await world.settle(a_funding(10**24))
    await world.settle(a_deposit(1, version=1, state="seen"))

    await world.settle(of_a_later_version(a_deposit(1, version=3, state="reverted")))
    await world.settle(a_deposit(1, version=2, state="confirmed"))

    [deposit] = await world.rows("SELECT version, state FROM deposit WHERE swap_id IS NOT NULL")
    assert (deposit.version, deposit.state) == (3, "reverted")
    assert await world.intent_states() == []


async def test_m10_a_trace_that_an_older_version_stored_is_not_published(world: World) -> None:
    await world.request_swap(1)
    await world.settle(a_funding(10**24))
    [swap] = await world.rows("UPDATE swap SET trace_id = 'a request' RETURNING id")

    await world.settle(a_deposit(1))

    sent = await world.rows(
        "SELECT message ->> 'trace_id' AS trace_id FROM outbox "
        "CROSS JOIN LATERAL (SELECT convert_from(payload, 'UTF8')::jsonb AS message) AS read "
        f"WHERE topic = 'swap.changed.v1' AND message ->> 'key' = '{swap.id}'"
    )
    assert len(sent) > 1
    assert {one.trace_id for one in sent} == {trace_id_of(swap.id)}
