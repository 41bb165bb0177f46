"""Management requests with an idempotency key run once, and no secret is stored for them."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from api_harness import Harness
from fake_webhooks import FakeWebhooks
from people import BASE, Person, a_colleague, an_operators_client, an_owner

from swap_api.admission.store.idempotency import PostgresIdempotency
from swap_api.management.store.keys import PostgresKeys
from swap_api.management.store.partners import PostgresPartners
from swap_api.model.members import Role
from swap_runtime.errors import Unavailable

pytestmark = pytest.mark.connected
NOT_STORED = (409, "IDEMPOTENCY_ANSWER_NOT_KEPT")
A_KEY = {"kind": "secret", "label": "shop 1"}


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


@pytest.fixture
async def owner(api: Harness) -> Person:
    return await an_owner(api)


async def once(
    person: Person, path: str, body: dict[str, Any] | None = None, *, key: str = "k-1"
) -> httpx.Response:
    headers = {"Authorization": f"Bearer {person.token}", "Idempotency-Key": key}
    return await person.api.client.post(BASE + path, json=body or {}, headers=headers)


async def expire_claim(api: Harness) -> None:
    """Expire the claim of the first request, whatever its outcome."""
    async with api.service.engine.begin() as connection:
        await connection.execute("UPDATE idempotency SET claimed_until = now() - interval '1 day'")


async def count(api: Harness, table: str) -> int:
    [(found,)] = await api.rows(f"SELECT count(*) FROM {table}")
    return int(found)


class TestAnAnswerWithoutASecret:
    async def test_is_given_again(self, api: Harness, owner: Person) -> None:
        path = f"/organizations/{owner.organization_id}/apps"
        body = {"name": "web", "environment": "test"}

        first, again = [await once(owner, path, body) for _ in range(2)]

        assert first.status_code == again.status_code == 200
        assert again.content == first.content
        assert "idempotent-replayed" not in first.headers
        assert again.headers["idempotent-replayed"] == "true"
        assert await count(api, "app") == 1

    async def test_is_the_one_of_that_moment(self, api: Harness, owner: Person) -> None:
        path = f"/organizations/{owner.organization_id}"
        first = await once(owner, path, {"name": "Shop 2"})
        await owner.post_ok(path, {"name": "Shop 3"})

        again = await once(owner, path, {"name": "Shop 2"})

        assert again.content == first.content
        assert (await owner.get(path)).json()["data"]["name"] == "Shop 3"

    async def test_belongs_to_one_address_one_body_and_one_member(
        self, api: Harness, owner: Person
    ) -> None:
        admin = await a_colleague(owner, Role.ADMIN)
        path = f"/organizations/{owner.organization_id}/apps"
        body = {"name": "web", "environment": "test"}
        app = (await once(owner, path, body)).json()["data"]["id"]

        assert code(await once(owner, path, {**body, "name": "shop"})) == (
            409,
            "IDEMPOTENCY_KEY_REUSED",
        )
        assert code(await once(owner, f"/apps/{app}/keys", A_KEY)) == (
            409,
            "IDEMPOTENCY_KEY_REUSED",
        )
        assert (await once(admin, path, body)).json()["data"]["id"] != app

    async def test_that_was_lost_is_not_replaced_by_a_second_run(
        self, api: Harness, owner: Person, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = f"/organizations/{owner.organization_id}/apps"
        body = {"name": "web", "environment": "test"}
        with monkeypatch.context() as broken:
            lose_answer(broken, PostgresPartners, "add_app")
            assert (await once(owner, path, body)).status_code == 503

        assert code(await once(owner, path, body)) == (409, "IDEMPOTENCY_KEY_IN_PROGRESS")
        await expire_claim(api)
        lost = await once(owner, path, body)

        assert code(lost) == NOT_STORED
        assert "id" not in lost.json()["error"]["metadata"]
        assert await count(api, "app") == 1
        assert (await once(owner, path, body, key="k-2")).status_code == 200


class TestASecret:
    async def test_is_made_once_and_shown_once(self, api: Harness, owner: Person) -> None:
        app = await owner.an_app()

        first = (await once(owner, f"/apps/{app}/keys", A_KEY)).json()["data"]
        again = await once(owner, f"/apps/{app}/keys", A_KEY)

        assert code(again) == NOT_STORED
        assert again.json()["error"]["metadata"]["id"] == first["id"]
        assert first["key"] not in again.text
        assert await count(api, "api_key") == 1
        await owner.post_ok(f"/keys/{first['id']}/revoke")

    async def test_is_not_stored(self, api: Harness, owner: Person) -> None:
        app = await owner.an_app()
        made = (await once(owner, f"/apps/{app}/keys", A_KEY)).json()["data"]

        [held] = await api.rows("SELECT answer FROM idempotency")

        assert held.answer == b'{"id":"%b"}' % made["id"].encode()

    @pytest.mark.fault("A4")
    async def test_a4_is_one_of_twenty_requests_at_the_same_time(
        self, api: Harness, owner: Person
    ) -> None:
        app = await owner.an_app()

        answers = await asyncio.gather(
            *(once(owner, f"/apps/{app}/keys", A_KEY) for _ in range(20))
        )

        assert sum(answer.status_code == 200 for answer in answers) == 1
        assert {code(a) for a in answers if a.status_code != 200} <= {
            NOT_STORED,
            (409, "IDEMPOTENCY_KEY_IN_PROGRESS"),
        }
        assert await count(api, "api_key") == 1

    @pytest.mark.fault("A5")
    async def test_a5_whose_answer_was_lost_is_not_made_again(
        self, api: Harness, owner: Person, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        app = await owner.an_app()
        with monkeypatch.context() as broken:
            lose_answer(broken, PostgresKeys, "add")
            assert (await once(owner, f"/apps/{app}/keys", A_KEY)).status_code == 503
        await expire_claim(api)

        assert code(await once(owner, f"/apps/{app}/keys", A_KEY)) == NOT_STORED
        assert await count(api, "api_key") == 1

    async def test_is_shown_although_its_answer_cannot_be_stored(
        self, api: Harness, owner: Person, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        app = await owner.an_app()
        with monkeypatch.context() as broken:
            lose_answer(broken, PostgresIdempotency, "save", is_done=False)
            made = await once(owner, f"/apps/{app}/keys", A_KEY)
        await expire_claim(api)

        assert made.json()["data"]["key"].startswith("svc_test_")
        assert code(await once(owner, f"/apps/{app}/keys", A_KEY)) == NOT_STORED
        assert await count(api, "api_key") == 1

    async def test_that_was_refused_can_be_requested_again(
        self, api: Harness, owner: Person
    ) -> None:
        app = await owner.an_app("live")
        developer = await a_colleague(owner, Role.DEVELOPER)
        refused = await once(developer, f"/apps/{app}/keys", A_KEY)
        await owner.post_ok(f"/members/{developer.id}/role", {"role": "admin"})

        answer = await once(developer, f"/apps/{app}/keys", A_KEY)

        assert (code(refused), answer.status_code) == ((403, "ROLE_TOO_LOW"), 200)

    async def test_replaces_a_key_once(self, api: Harness, owner: Person) -> None:
        app = await owner.an_app()
        old = await owner.post_ok(f"/apps/{app}/keys", A_KEY)

        new, again = [await once(owner, f"/keys/{old['id']}/rotate") for _ in range(2)]

        assert code(again) == NOT_STORED
        assert again.json()["error"]["metadata"]["id"] == new.json()["data"]["id"]
        assert await count(api, "api_key") == 2

    @pytest.mark.parametrize(
        ("path", "body", "table"),
        [
            ("/me/tokens", {"label": "laptop"}, "access_token"),
            ("/organizations/{}/invitations", {"name": "ada", "role": "viewer"}, "invitation"),
        ],
    )
    async def test_may_be_a_token_or_an_invitation(
        self, api: Harness, owner: Person, path: str, body: dict[str, Any], table: str
    ) -> None:
        before = await count(api, table)

        answers = [await once(owner, path.format(owner.organization_id), body) for _ in range(2)]

        assert [answer.status_code for answer in answers] == [200, 409]
        assert code(answers[1]) == NOT_STORED
        assert await count(api, table) == before + 1

    async def test_of_a_webhook_endpoint_is_made_once(self, api: Harness, owner: Person) -> None:
        api.parts.management.manage_webhooks._endpoints = FakeWebhooks()
        app = await owner.an_app()
        body = {"url": "https://shop.example"}

        made, again = [await once(owner, f"/apps/{app}/webhooks", body) for _ in range(2)]

        webhook = made.json()["data"]["id"]
        assert (code(again), again.json()["error"]["metadata"]["id"]) == (NOT_STORED, webhook)
        assert len((await owner.get(f"/apps/{app}/webhooks")).json()["data"]) == 1
        rotated = [await once(owner, f"/webhooks/{webhook}/rotate", key="k-2") for _ in range(2)]
        assert [answer.status_code for answer in rotated] == [200, 409]


async def test_accepting_an_invitation_ignores_the_key_and_is_idempotent(
    api: Harness, owner: Person
) -> None:
    path = f"/organizations/{owner.organization_id}/invitations"
    token = (await owner.post_ok(path, {"name": "ada", "role": "viewer"}))["token"]

    answers = [await once(owner, "/invitations/accept", {"token": token}) for _ in range(2)]

    assert answers[0].status_code == 200
    assert code(answers[1]) == (400, "INVITATION_INVALID")


async def test_an_operators_order_is_done_once_too(api: Harness) -> None:
    async with an_operators_client(api) as http:

        async def ask(path: str, body: dict[str, Any], key: str) -> tuple[Any, Any]:
            headers = {"Idempotency-Key": key}
            answer = await http.post(BASE + path, json=body, headers=headers)
            return answer, await answer.json()

        first, made = await ask("/organizations", {"name": "Shop"}, "k-1")
        again, repeated = await ask("/organizations", {"name": "Shop"}, "k-1")
        path = f"/organizations/{made['data']['id']}/invitations"
        invited = [await ask(path, {"name": "ada", "role": "owner"}, "k-2") for _ in range(2)]

    assert (repeated, again.headers["idempotent-replayed"]) == (made, "true")
    assert first.status == 200
    assert [answer.status for answer, _ in invited] == [200, 409]
    assert await count(api, "partner") == await count(api, "invitation") == 1


def lose_answer(
    patch: pytest.MonkeyPatch, adapter: type, method: str, *, is_done: bool = True
) -> None:
    """Make an adapter lose its answer, after it has done the work or before."""
    done = getattr(adapter, method)

    async def lost(*args: Any, **options: Any) -> Any:
        if is_done:
            await done(*args, **options)
        raise Unavailable("the connection broke")

    patch.setattr(adapter, method, lost)
