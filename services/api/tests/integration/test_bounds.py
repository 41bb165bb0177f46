"""Members can create a limited number of objects, also by concurrent requests."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from api_harness import Harness, start
from people import Person, an_owner

from swap_api.model.keys import Allowances, Environment, KeyKind

pytestmark = pytest.mark.connected
MOST = {
    "apps_per_organization": 3,
    "members_per_organization": 3,
    "keys_per_app": 3,
    "webhooks_per_app": 3,
    "tokens_per_member": 3,
}


@pytest.fixture
async def api(database_url: str, redis_url: str, catalogue_file: Path) -> AsyncIterator[Harness]:
    harness = start(database_url, redis_url, catalogue_file, bounds=MOST)
    yield harness
    await harness.stop()


@pytest.fixture
async def owner(api: Harness) -> Person:
    return await an_owner(api)


async def at_once(owner: Person, path: str, body: dict[str, Any]) -> Counter[str]:
    answers = await asyncio.gather(*(owner.post(path, body) for _ in range(6)))
    return Counter(outcome_of(answer) for answer in answers)


def outcome_of(answer: httpx.Response) -> str:
    if answer.status_code == 200:
        return "done"
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["metadata"]["most"]) == (
        409,
        "LIMIT_REACHED",
        3,
    )
    return str(error["metadata"]["limit"])


class TestMembersMake:
    async def test_so_many_apps(self, owner: Person) -> None:
        path = f"/organizations/{owner.organization_id}/apps"

        made = await at_once(owner, path, {"name": "web", "environment": "test"})

        assert made == {"done": 3, "apps_per_organization": 3}

    async def test_so_many_open_keys(self, owner: Person) -> None:
        app = await owner.an_app()

        made = await at_once(owner, f"/apps/{app}/keys", {})

        assert made == {"done": 3, "keys_per_app": 3}

    async def test_another_key_where_one_is_closed(self, owner: Person) -> None:
        path = f"/apps/{await owner.an_app()}/keys"
        keys = [await owner.post_ok(path) for _ in range(3)]

        await owner.post_ok(f"/keys/{keys[0]['id']}/revoke")
        await owner.post_ok(path)

        assert outcome_of(await owner.post(path)) == "keys_per_app"

    async def test_one_key_more_while_a_replaced_one_goes_on(self, owner: Person) -> None:
        path = f"/apps/{await owner.an_app()}/keys"
        key, *_ = [await owner.post_ok(path) for _ in range(3)]

        replaced = await owner.post_ok(f"/keys/{key['id']}/rotate", {"overlap_seconds": 60})
        both = await owner.post(f"/keys/{replaced['id']}/rotate", {"overlap_seconds": 60})
        listed = (await owner.get(path)).json()["data"]
        instead = await owner.post(f"/keys/{replaced['id']}/rotate", {"overlap_seconds": 0})
        another = await owner.post(path)

        assert [outcome_of(both), outcome_of(instead), outcome_of(another)] == [
            "keys_per_app",
            "done",
            "keys_per_app",
        ]
        still_open = [one for one in listed if one["id"] == replaced["id"]]
        assert [one["expires_at"] for one in still_open] == [None]

    async def test_so_many_invitations_with_the_members(self, owner: Person) -> None:
        path = f"/organizations/{owner.organization_id}/invitations"

        made = await at_once(owner, path, {"name": "ada", "role": "viewer"})

        assert made == {"done": 2, "members_per_organization": 4}

    async def test_so_many_tokens(self, owner: Person) -> None:
        made = await at_once(owner, "/me/tokens", {"label": "laptop"})

        assert made == {"done": 2, "tokens_per_member": 4}

    async def test_nothing_that_another_organization_has_to_do_without(
        self, api: Harness, owner: Person
    ) -> None:
        other = await an_owner(api, "Another")
        for _ in range(3):
            await owner.an_app()

        assert await other.an_app()


async def test_an_operator_makes_more(api: Harness, owner: Person) -> None:
    keep, keys = api.parts.management.manage_partners, api.parts.management.manage_keys
    for _ in range(4):
        app = await keep.add_app(
            UUID(owner.organization_id),
            name="more",
            environment=Environment.TEST,
            allowances=Allowances(),
        )
    for _ in range(4):
        await keys.issue(app["id"], KeyKind.SECRET)

    assert (await owner.get(f"/apps/{app['id']}/keys")).headers["x-total-count"] == "4"
