"""Webhooks, at the suite's receiver."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from time import time
from typing import Any

import pytest

from tests.conformance.paid_swaps import Journey, PaidSwaps
from tests.conformance.receiver import REDIRECT, Delivery, Receiver
from tests.conformance.signing import RequirementMissing
from tests.conformance.tables import enums, fields_of
from tests.conformance.world import World

rule = pytest.mark.rule
FAMILIES = ("svix", "webhook")
FRESH_SECONDS = 300
EVENT_TYPES = {f"swap.{name}" for name in (*enums()["SwapStatus"], "updated")}
STATUSES = ["user_transfer_pending", "ls_transfer_pending", "completed"]


@pytest.fixture
def journey(paid_swaps: PaidSwaps, receiver: Receiver) -> Journey:
    journey = paid_swaps.by_depository
    receiver.about(journey.id, "completed")
    return journey


@pytest.fixture
def reported_swap(world: World, paid_swaps: PaidSwaps, receiver: Receiver) -> Mapping[str, Any]:
    """Return a swap with webhooks: a paid one, or a pending one where none can be paid."""
    try:
        journey = paid_swaps.by_depository
    except RequirementMissing:
        receiver.about(world.swap["swap"]["id"], "user_transfer_pending")
        return dict(world.swap["swap"])
    receiver.about(journey.id, "completed")
    return dict(journey.created["swap"])


@pytest.fixture
def deliveries(reported_swap: Mapping[str, Any], receiver: Receiver) -> Sequence[Delivery]:
    return [one for one in receiver.deliveries if one.swap_id == reported_swap["id"]]


@rule("6.1", "payload")
def test_a_webhook_describes_the_swap_at_its_status(
    reported_swap: Mapping[str, Any], deliveries: Sequence[Delivery], world: World
) -> None:
    for one in deliveries:
        assert set(one.payload) == set(fields_of("WebhookPayload"))
        world.target.observed.add("WebhookPayload", one.payload, "webhook")
        status = one.headers["webhook-event-type"].removeprefix("swap.")
        assert one.payload["swap"]["status"] == status or status == "updated"
        assert one.payload["deposit_actions"] == []
        assert (
            one.payload["swap"]["metadata"]["reference_id"]
            == reported_swap["metadata"]["reference_id"]
        )


@rule("6.1", "every-status")
def test_every_status_is_sent(journey: Journey, receiver: Receiver) -> None:
    for status in STATUSES:
        assert receiver.about(journey.id, status)


@rule("6.1", "signed")
@pytest.mark.parametrize("family", FAMILIES)
def test_a_webhook_is_signed_with_the_secret(
    deliveries: Sequence[Delivery], receiver: Receiver, family: str
) -> None:
    for one in deliveries:
        expected = {one.expected_signature(secret, family) for secret in receiver.secrets}
        assert expected & set(one.signatures(family))
        assert abs(time() - int(one.headers[f"{family}-timestamp"])) < FRESH_SECONDS


@rule("D6", "headers")
def test_both_families_of_headers_have_the_same_values(deliveries: Sequence[Delivery]) -> None:
    for one in deliveries:
        for name in ("id", "timestamp", "signature"):
            assert one.headers[f"svix-{name}"] == one.headers[f"webhook-{name}"]
        assert one.headers["webhook-event-type"] in EVENT_TYPES
        assert one.headers["content-type"].startswith("application/json")


@rule("D6", "sequence")
def test_a_receiver_can_put_the_events_in_order(
    journey: Journey, deliveries: Sequence[Delivery]
) -> None:
    by_sequence = {one.payload["swap"]["metadata"]["sequence"]: one for one in deliveries}
    statuses = [
        one.headers["webhook-event-type"].removeprefix("swap.")
        for _, one in sorted(by_sequence.items())
    ]

    assert [status for status in statuses if status != "updated"] == STATUSES


@rule("D6", "test-event")
def test_a_test_event_can_be_requested(receiver: Receiver) -> None:
    one = a_test_event(receiver)

    assert set(one.payload) == set(fields_of("WebhookPayload"))
    assert one.expected_signature(receiver.secret, "webhook") in one.signatures("webhook")


@rule("D6", "retried")
@rule("D6", "redirect-fails")
@rule("D6", "attempts")
def test_a_refused_message_is_sent_again(receiver: Receiver) -> None:
    receiver.needs_own()
    refused: dict[int, Delivery] = {}
    for status in (500, REDIRECT):
        receiver.refusals.append(status)
        refused[status] = a_test_event(receiver)

    for status, first in refused.items():
        one, again = receiver.wait_for(lambda d, first=first: same(d, first), number=2, within=15)
        assert one.body == again.body
        moments = [int(d.headers["webhook-timestamp"]) for d in (one, again)]
        assert moments[1] >= moments[0] + 4
        log = receiver.operator.log(first.headers["webhook-id"])
        assert len(log) == 2
        assert str(status) in json.dumps(log)


@rule("D6", "gone-disables")
def test_an_endpoint_that_answers_gone_is_disabled(receiver: Receiver, world: World) -> None:
    url = receiver.gone_url
    endpoint_id, _ = receiver.operator.add_endpoint(url)

    receiver.operator.at_endpoint(endpoint_id, "test", {})

    assert world.wait_for(lambda: not receiver.operator.is_enabled(endpoint_id))


@rule("D6", "replay-one")
def test_a_message_is_sent_again_as_it_was(receiver: Receiver) -> None:
    first = a_test_event(receiver)

    receiver.operator.replay(first.headers["webhook-id"])

    one, again = receiver.wait_for(lambda d: same(d, first), number=2)
    assert one.body == again.body
    assert again.expected_signature(receiver.secret, "webhook") in again.signatures("webhook")


@rule("D6", "replay-since")
def test_everything_since_a_time_is_sent_again(journey: Journey, receiver: Receiver) -> None:
    known = [one for one in receiver.deliveries if one.swap_id == journey.id]
    since = (datetime.now(UTC) - timedelta(minutes=10)).isoformat()
    operator = receiver.operator
    assert receiver.endpoint_id is not None

    operator.at_endpoint(receiver.endpoint_id, "replay", {"since": since})

    for status in STATUSES:
        number = 1 + sum(one.payload["swap"]["status"] == status for one in known)
        receiver.wait_for(
            lambda one, status=status: (
                one.swap_id == journey.id and one.payload["swap"]["status"] == status
            ),
            number=number,
        )


@rule("D6", "rotation")
def test_after_a_rotation_both_secrets_sign(receiver: Receiver) -> None:
    receiver.needs_own()
    old, operator = receiver.secret, receiver.operator
    assert receiver.endpoint_id is not None
    rotated = operator.at_endpoint(receiver.endpoint_id, "rotate", {})
    receiver.secrets.append(rotated["secret"])

    one = a_test_event(receiver)

    expected = {one.expected_signature(secret, "webhook") for secret in (old, receiver.secret)}
    assert set(one.signatures("webhook")) == expected


def a_test_event(receiver: Receiver) -> Delivery:
    """Request a test event, and return it after it arrived."""
    operator = receiver.operator
    assert receiver.endpoint_id is not None
    message_id = operator.at_endpoint(receiver.endpoint_id, "test", {})["message_id"]
    return receiver.wait_for(lambda one: one.headers["webhook-id"] == message_id)[0]


def same(one: Delivery, other: Delivery) -> bool:
    return one.headers["webhook-id"] == other.headers["webhook-id"]
