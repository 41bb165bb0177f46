"""Members and webhook endpoints: ownership, and entries of the audit log."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest
from api_harness import Harness
from fake_webhooks import FakeWebhooks
from people import BASE, Person, a_colleague, an_owner

from swap_api.management.decide.listing import Window
from swap_api.model.members import OPERATOR, Role

pytestmark = pytest.mark.connected


@pytest.fixture
async def owner(api: Harness, webhooks: FakeWebhooks) -> Person:
    return await an_owner(api)


async def a_webhook(owner: Person) -> str:
    app = await owner.an_app()
    made = await owner.post_ok(f"/apps/{app}/webhooks", {"url": "https://shop.example"})
    return str(made["id"])


async def changes(owner: Person) -> list[dict[str, Any]]:
    answer = await owner.get(f"/organizations/{owner.organization_id}/changes")
    return list(answer.json()["data"])


async def test_everything_that_is_done_with_an_endpoint_is_written_down(owner: Person) -> None:
    webhook = await a_webhook(owner)

    message = (await owner.post_ok(f"/webhooks/{webhook}/test"))["message_id"]
    await owner.post_ok(f"/webhooks/{webhook}/replay", {"since": "2026-01-01T00:00:00Z"})
    await owner.post_ok(f"/webhooks/{webhook}/messages/{message}/replay")

    one, since, test = (await changes(owner))[:3]
    assert [entry["action"] for entry in (one, since, test)] == [
        "webhook.replay",
        "webhook.replay",
        "webhook.test",
    ]
    assert {entry["subject_id"] for entry in (one, since, test)} == {webhook}
    assert one["details"]["message_id"] == message
    assert since["details"]["since"] == "2026-01-01T00:00:00+00:00"


async def test_the_events_of_an_endpoint_are_changed(owner: Person) -> None:
    webhook = await a_webhook(owner)
    chosen = {"wants_updates": True, "wants_notices": False}

    changed = await owner.post_ok(f"/webhooks/{webhook}/events", chosen)
    unnamed = await owner.post(f"/webhooks/{webhook}/events", {"wants_updates": True})

    assert (changed["id"], changed["wants_updates"]) == (webhook, True)
    assert unnamed.status_code == 400
    entry = (await changes(owner))[0]
    assert (entry["action"], entry["subject_id"]) == ("webhook.events", webhook)
    assert entry["details"]["wants_updates"] is True


async def test_invitations_that_go_with_who_gave_them_are_written_down(owner: Person) -> None:
    admin = await a_colleague(owner, Role.ADMIN)
    path = f"/organizations/{owner.organization_id}/invitations"
    invited = {(await admin.post_ok(path, {"name": name, "role": "viewer"}))["id"] for name in "ab"}

    await owner.post_ok(f"/members/{admin.id}/role", {"role": "viewer"})

    first, second, lowered = (await changes(owner))[:3]
    assert [e["action"] for e in (first, second)] == ["invitation.revoked"] * 2
    assert {first["subject_id"], second["subject_id"]} == invited
    assert lowered["action"] == "member.role_changed"
    assert {e["actor"] for e in (first, second, lowered)} == {"owner"}


async def test_the_notifier_gets_whether_an_operator_switches(
    api: Harness, owner: Person, webhooks: FakeWebhooks
) -> None:
    webhook = await a_webhook(owner)

    await owner.post_ok(f"/webhooks/{webhook}/disable")
    await api.parts.management.manage_webhooks.order(UUID(webhook), "enable", {}, actor=OPERATOR)

    assert webhooks.orders[-2:] == [{"by": "owner"}, {"by": "operator"}]


async def test_an_endpoint_of_another_partner_is_answered_like_a_missing_one(
    api: Harness, owner: Person
) -> None:
    other_owner = await an_owner(api, "Another")
    others, unknown = await a_webhook(owner), str(uuid4())
    await other_owner.get(f"/webhooks/{unknown}/messages")  # records the token's use

    answers = []
    for webhook in (others, unknown):
        with api.statements() as seen:
            answer = await other_owner.get(f"/webhooks/{webhook}/messages")
        error = answer.json()["error"]
        answers.append((answer.status_code, error["code"], error["message"], seen.texts))

    assert answers[0] == answers[1]
    assert answers[0][0] == 404


async def test_messages_are_listed_by_pages(owner: Person, webhooks: FakeWebhooks) -> None:
    webhook = await a_webhook(owner)
    path = f"/webhooks/{webhook}/messages"
    for _ in range(50):
        await webhooks.order(UUID(webhook), "test", {})

    first = await owner.get(path)
    third = await owner.get(path, params={"page": 3, "page_size": 5, "undelivered_only": True})
    refused = await owner.get(path, params={"page_size": 101})

    assert webhooks.windows == [Window(20, 0), Window(5, 10)]
    assert first.headers["x-total-count"] == "50"
    assert third.headers["link"] == (
        f'<{BASE}{path}?page_size=5&undelivered_only=true&page=1>; rel="first", '
        f'<{BASE}{path}?page_size=5&undelivered_only=true&page=2>; rel="prev", '
        f'<{BASE}{path}?page_size=5&undelivered_only=true&page=4>; rel="next"'
    )
    assert refused.status_code == 400


async def test_pages_of_messages_link_to_the_place_behind_them(
    owner: Person, webhooks: FakeWebhooks
) -> None:
    webhook = await a_webhook(owner)
    path = f"/webhooks/{webhook}/messages"
    for _ in range(5):
        await webhooks.order(UUID(webhook), "test", {})

    answers = [await owner.get(path, params={"page_size": 2})]
    while "link" in answers[-1].headers:
        link = answers[-1].headers["link"].partition(">")[0].removeprefix(f"<{BASE}")
        answers.append(await owner.get(link))
    refused = await owner.get(path, params={"starting_after": "no place!"})

    ids = [row["id"] for answer in answers for row in answer.json()["data"]]
    assert ids == [row["id"] for row in webhooks.sent[webhook]]
    assert [one.headers["x-total-count"] for one in answers] == ["5"] * 3
    assert refused.status_code == 400


async def test_messages_that_have_ended_are_listed_oldest_first(
    owner: Person, webhooks: FakeWebhooks
) -> None:
    webhook = await a_webhook(owner)
    await webhooks.order(UUID(webhook), "test", {})  # which is pending
    path = f"/webhooks/{webhook}/messages"

    everything, ended = await owner.get(path), await owner.get(path, params={"oldest_first": True})

    assert len(everything.json()["data"]) == 1
    assert ended.json()["data"] == []
