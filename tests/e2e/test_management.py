"""An organization manages its members, keys and webhooks on the public port."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter

from swap_contracts.public.management import (
    NewWebhookModel,
    WebhookMessageModel,
    WebhookModel,
    WebhookRemovedModel,
    WebhookReplayedModel,
    WebhookSecretModel,
    WebhookSwitchedModel,
    WebhookTestedModel,
)
from tests.plugins.stack import Stack

BASE = "/management/v1"


@dataclass(frozen=True, slots=True)
class Member:
    """A member with an access token."""

    url: str
    token: str
    organization_id: str

    async def ask(
        self, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}"}
        async with httpx.AsyncClient(timeout=10) as client:
            return await client.request(method, f"{self.url}{path}", json=body, headers=headers)

    async def get(self, path: str) -> Any:
        return data_of(await self.ask("GET", path))

    async def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        return data_of(await self.ask("POST", path, body or {}))


def data_of(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


async def an_owner(stack: Stack, name: str) -> Member:
    """Return the first owner of a new organization, after the operator's invitation."""
    made = await stack.order("api", f"{BASE}/organizations", {"name": name})
    organization_id = made["data"]["id"]
    path = f"{BASE}/organizations/{organization_id}/invitations"
    invited = await stack.order("api", path, {"name": f"owner of {name}", "role": "owner"})
    url = stack.description["gateway"]["url"] + BASE
    async with httpx.AsyncClient(timeout=10) as client:
        answer = await client.post(
            f"{url}/invitations/accept", json={"token": invited["data"]["token"]}
        )
    return Member(url, data_of(answer)["token"], organization_id)


@pytest.fixture
async def owner(stack: Stack) -> Member:
    return await an_owner(stack, "managed")


async def an_app(owner: Member) -> str:
    path = f"/organizations/{owner.organization_id}/apps"
    return str((await owner.post(path, {"name": "web", "environment": "test"}))["id"])


class TestManagement:
    async def test_begins_with_an_invitation_and_ends_in_a_key_that_works(
        self, owner: Member
    ) -> None:
        app = await an_app(owner)
        key = await owner.post(f"/apps/{app}/keys", {"label": "first"})
        new = await owner.post(f"/keys/{key['id']}/rotate", {"overlap_seconds": 60})

        async with httpx.AsyncClient(timeout=10) as client:
            statuses = [
                (
                    await client.get(
                        owner.url.replace(BASE, "/api/v2/networks"),
                        headers={"X-SVC-APIKEY": one["key"]},
                    )
                ).status_code
                for one in (key, new)
            ]

        assert statuses == [200, 200]

    @pytest.mark.each_broker
    async def test_of_webhooks_reaches_the_notifier(self, owner: Member, stack: Stack) -> None:
        app, url = await an_app(owner), stack.description["partners"][0]["webhook"]["url"]
        made = await owner.post(f"/apps/{app}/webhooks", {"url": url})
        webhook = f"/webhooks/{made['id']}"

        answers: list[tuple[Any, Any]] = [
            (NewWebhookModel, made),
            (list[WebhookModel], await owner.get(f"/apps/{app}/webhooks")),
            (WebhookSecretModel, await owner.post(f"{webhook}/rotate")),
            (WebhookTestedModel, await owner.post(f"{webhook}/test")),
            (
                WebhookReplayedModel,
                await owner.post(f"{webhook}/replay", {"since": "2026-01-01T00:00:00Z"}),
            ),
            (list[WebhookMessageModel], await owner.get(f"{webhook}/messages")),
            # Pending messages are discarded, because the endpoint has no secret.
            (WebhookSwitchedModel, await owner.post(f"{webhook}/disable")),
            (WebhookSwitchedModel, await owner.post(f"{webhook}/enable")),
            (WebhookRemovedModel, await owner.post(f"{webhook}/remove")),
        ]
        refused = await owner.ask("POST", f"/apps/{app}/webhooks", {"url": "ftp://a.example"})
        changes = await owner.get(f"/organizations/{owner.organization_id}/changes")

        for model, content in answers:
            TypeAdapter(model).validate_python(content)
        assert refused.json()["error"]["code"] == "VALIDATION_ERROR"
        assert [change["action"] for change in changes][:7] == [
            "webhook.remove",
            "webhook.enable",
            "webhook.disable",
            "webhook.replay",
            "webhook.test",
            "webhook.rotate",
            "webhook.added",
        ]

    async def test_leaves_what_an_operator_disabled_to_operators(
        self, owner: Member, stack: Stack
    ) -> None:
        app, url = await an_app(owner), stack.description["partners"][0]["webhook"]["url"]
        webhook = f"/webhooks/{(await owner.post(f'/apps/{app}/webhooks', {'url': url}))['id']}"
        await owner.post(f"{webhook}/disable")
        await owner.post(f"{webhook}/enable")
        await stack.order("api", f"{BASE}{webhook}/disable", {})

        refused = await owner.ask("POST", f"{webhook}/enable", {})
        await stack.order("api", f"{BASE}{webhook}/enable", {})

        assert refused.status_code == 409
        assert refused.json()["error"]["code"] == "DISABLED_BY_OPERATOR"
        assert (await owner.get(f"/apps/{app}/webhooks"))[0]["disabled_reason"] is None

    async def test_of_webhooks_belongs_to_its_endpoint(self, owner: Member, stack: Stack) -> None:
        app, url = await an_app(owner), stack.description["partners"][0]["webhook"]["url"]
        made = await owner.post(f"/apps/{app}/webhooks", {"url": url})
        other = await an_owner(stack, "other")

        requests = [
            ("GET", f"/apps/{app}/webhooks"),
            ("POST", f"/webhooks/{made['id']}/rotate"),
            ("POST", f"/webhooks/{made['id']}/test"),
            ("GET", f"/webhooks/{made['id']}/messages"),
        ]
        answers = [await other.ask(method, path, {}) for method, path in requests]

        assert [answer.json()["error"]["code"] for answer in answers] == ["NOT_FOUND"] * 4
