"""Removed or demoted members can change nothing, even with a request that started before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest
from api_harness import Harness
from people import BASE, Person, a_colleague, an_owner

from swap_api.model.keys import Allowances, Environment, KeyKind
from swap_api.model.members import Actor, Role
from swap_api.model.refusals import ApiRefusal
from swap_contracts.public.errors import ErrorCode

pytestmark = pytest.mark.connected


class Shop:
    """An organization with an app, a key and two owners."""

    def __init__(self, owner: Person, other: Person, app: str, key: str) -> None:
        self.api = owner.api
        self.owner = owner
        self.other = other
        self.organization_id = UUID(owner.organization_id)
        self.app_id = UUID(app)
        self.key_id = UUID(key)

    async def actor(self) -> Actor:
        """Return the other owner as identified at the start of a request."""
        return await self.api.parts.admission.identify_member(self.other.token)

    async def changes(self) -> int:
        [row] = await self.api.rows("SELECT count(*) AS entries FROM audit_entry")
        return int(row.entries)

    async def invite(self, actor: Actor) -> None:
        keep = self.api.parts.management.manage_members
        await keep.invite(self.organization_id, name="eve", role=Role.OWNER, actor=actor)

    async def issue_token(self, actor: Actor) -> None:
        keep = self.api.parts.management.manage_members
        await keep.issue_token(label="mine", expires_at=None, actor=actor)

    async def demote(self, actor: Actor) -> None:
        keep = self.api.parts.management.manage_members
        await keep.change_role(UUID(self.owner.id), Role.VIEWER, actor=actor)

    async def remove(self, actor: Actor) -> None:
        await self.api.parts.management.manage_members.remove(UUID(self.owner.id), actor=actor)

    async def add_key(self, actor: Actor) -> None:
        keep = self.api.parts.management.manage_keys
        await keep.issue(self.app_id, KeyKind.SECRET, actor=actor)

    async def rotate(self, actor: Actor) -> None:
        await self.api.parts.management.manage_keys.rotate(self.key_id, actor=actor)

    async def add_app(self, actor: Actor) -> None:
        await self.api.parts.management.manage_partners.add_app(
            self.organization_id,
            name="eve",
            environment=Environment.LIVE,
            allowances=Allowances(),
            actor=actor,
        )

    async def rename(self, actor: Actor) -> None:
        keep = self.api.parts.management.manage_partners
        await keep.rename_organization(self.organization_id, "eve", actor=actor)


@pytest.fixture
async def shop(api: Harness) -> Shop:
    owner = await an_owner(api)
    other = await a_colleague(owner, Role.OWNER)
    app = await owner.an_app("live")
    key = await owner.post_ok(f"/apps/{app}/keys")
    return Shop(owner, other, app, key["id"])


ACTIONS: tuple[Callable[[Shop, Actor], Awaitable[None]], ...] = (
    Shop.invite,
    Shop.issue_token,
    Shop.add_key,
    Shop.rotate,
    Shop.add_app,
    Shop.rename,
    Shop.demote,
    Shop.remove,
)


@pytest.mark.parametrize(
    ("path", "body"),
    [("remove", {}), ("role", {"role": "viewer"})],
    ids=["removed", "demoted"],
)
async def test_a_change_is_refused_when_its_member_changed_since_the_request(
    shop: Shop, path: str, body: dict[str, Any]
) -> None:
    actor = await shop.actor()
    await shop.owner.post_ok(f"/members/{shop.other.id}/{path}", body)
    before = await shop.changes()

    for action in ACTIONS:
        with pytest.raises(ApiRefusal) as refused:
            await action(shop, actor)
        assert refused.value.code is ErrorCode.ACCESS_TOKEN_FORBIDDEN, action

    assert await shop.changes() == before


async def test_the_same_is_done_for_who_still_may(shop: Shop) -> None:
    actor, before = await shop.actor(), await shop.changes()

    for action in ACTIONS:
        await action(shop, actor)

    assert await shop.changes() == before + len(ACTIONS) + 1  # a rotation makes two


async def test_a_body_that_is_held_open_is_judged_by_who_its_sender_is_at_its_end(
    shop: Shop,
) -> None:
    async def held() -> AsyncIterator[bytes]:
        yield b'{"name":"eve",'
        await shop.owner.post_ok(f"/members/{shop.other.id}/remove")
        yield b'"role":"owner"}'

    answer = await shop.api.client.post(
        f"{BASE}/organizations/{shop.organization_id}/invitations",
        headers={
            "Authorization": f"Bearer {shop.other.token}",
            "Content-Type": "application/json",
        },
        content=held(),
    )

    assert answer.status_code == 403, answer.text
    assert answer.json()["error"]["code"] == "ACCESS_TOKEN_FORBIDDEN"
    listed = await shop.owner.get(f"/organizations/{shop.organization_id}/invitations")
    assert listed.json()["data"] == []


async def test_unknown_tokens_are_looked_up_together_on_one_connection(shop: Shop) -> None:
    path = f"{BASE}/me"

    with shop.api.statements() as seen:
        answers = await asyncio.gather(
            *(
                shop.api.client.get(path, headers={"Authorization": f"Bearer svc_user_{nth}"})
                for nth in range(40)
            ),
            shop.owner.get("/me"),
        )

    assert [answer.status_code for answer in answers] == [403] * 40 + [200]
    assert sum("FROM access_token JOIN member" in text for text in seen.texts) <= 3
