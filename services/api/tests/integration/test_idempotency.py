"""A repeated creation makes one swap and returns one answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from api_factories import ALICE, BOB, a_body
from api_harness import App, Harness, start

from swap_api.admission.store.idempotency import CLAIM_TERM, PostgresIdempotency
from swap_api.swaps.store.creations import PostgresCreations
from swap_runtime.errors import Unavailable
from tests.plugins.cutting_proxy import CuttingProxy, cutting_proxy

pytestmark = pytest.mark.connected
CREATED = b"SELECT 1\x00"  # the answer of Postgres to the statement that creates a swap


class TestIdempotencyKey:
    async def test_gives_the_first_answer_again_byte_by_byte(self, api: Harness) -> None:
        app = await api.an_app()

        first = await api.create(app, a_body(), key="k-1")
        again = await api.create(app, a_body(), key="k-1")

        assert first.status_code == again.status_code == 200
        assert again.content == first.content
        assert again.headers["idempotent-replayed"] == "true"
        assert "idempotent-replayed" not in first.headers
        assert len(await api.rows("SELECT id FROM swap")) == 1

    async def test_ignores_the_order_of_members(self, api: Harness) -> None:
        app = await api.an_app()
        body = a_body(note=None)

        first = await api.create(app, body, key="k-1")
        again = await api.create(app, dict(reversed(a_body().items())), key="k-1")

        assert again.content == first.content

    @pytest.mark.fault("A4")
    async def test_a4_refuses_another_body(self, api: Harness) -> None:
        app = await api.an_app()
        await api.create(app, a_body(), key="k-1")

        answer = await api.create(app, a_body(amount=2), key="k-1")

        assert (answer.status_code, answer.json()["error"]["code"]) == (
            409,
            "IDEMPOTENCY_KEY_REUSED",
        )

    @pytest.mark.fault("A4")
    async def test_a4_makes_one_swap_of_fifty_at_the_same_time(self, api: Harness) -> None:
        app = await api.an_app()

        answers = await asyncio.gather(*(api.create(app, a_body(), key="k") for _ in range(50)))

        made = {a.json()["data"]["swap"]["id"] for a in answers if a.status_code == 200}
        refused = {a.json()["error"]["code"] for a in answers if a.status_code != 200}
        assert len(made) == 1
        assert refused <= {"IDEMPOTENCY_KEY_IN_PROGRESS"}
        assert len(await api.rows("SELECT id FROM swap")) == 1
        assert len(await api.rows("SELECT id FROM outbox")) == 1

    @pytest.mark.fault("A4")
    async def test_a4_is_each_apps_own(self, api: Harness) -> None:
        mine, yours = await api.an_app(), await api.an_app()

        answers = [await api.create(app, a_body(), key="k-1") for app in (mine, yours)]

        assert {answer.status_code for answer in answers} == {200}
        assert len(await api.rows("SELECT id FROM swap")) == 2

    async def test_is_free_again_after_a_refusal(self, api: Harness) -> None:
        app = await api.an_app()
        api.quoter.is_away = True
        refused = await api.create(app, a_body(), key="k-1")
        api.quoter.is_away = False

        answer = await api.create(app, a_body(), key="k-1")

        assert (refused.status_code, answer.status_code) == (503, 200)

    async def test_is_free_again_when_the_commit_failed(
        self, api: Harness, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        app = await api.an_app()

        async def away(self: object, batch: object) -> object:
            raise Unavailable("no connection")

        with monkeypatch.context() as broken:
            broken.setattr(PostgresCreations, "_commit", away)
            refused = await api.create(app, a_body(), key="k-1")
        answer = await api.create(app, a_body(), key="k-1")

        assert (refused.status_code, answer.status_code) == (503, 200)

    async def test_is_kept_by_its_winner_when_the_other_locks_are_unknown(
        self, api: Harness, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        app = await api.an_app()

        async def away(*_: object) -> object:
            raise Unavailable("no connection is free")

        monkeypatch.setattr(PostgresIdempotency, "_find_held", away)
        answers = await asyncio.gather(*(api.create(app, a_body(), key="k") for _ in range(5)))

        assert sorted(answer.status_code for answer in answers) == [200, 503, 503, 503, 503]

    async def test_is_forgotten_after_a_day(self, api: Harness) -> None:
        app = await api.an_app()
        first = await api.create(app, a_body(), key="k-1")
        async with api.service.engine.begin() as connection:
            await connection.execute(
                "UPDATE idempotency SET created_at = created_at - interval '25 hours'"
            )

        second = await api.create(app, a_body(amount=2), key="k-1")

        assert second.status_code == 200
        assert second.json()["data"]["swap"]["id"] != first.json()["data"]["swap"]["id"]

    async def test_old_ones_are_dropped(self, api: Harness) -> None:
        app = await api.an_app()
        await api.create(app, a_body(), key="old")
        async with api.service.engine.begin() as connection:
            await connection.execute(
                "UPDATE idempotency SET created_at = created_at - interval '25 hours'"
            )
        await api.create(app, a_body(), key="new")

        await api.parts.admission.idempotency.forget_old()

        assert [row.key for row in await api.rows("SELECT key FROM idempotency")] == ["new"]

    @pytest.mark.parametrize("key", ["with space", "x" * 256, "caf\u00e9"])
    async def test_has_a_form(self, api: Harness, key: str) -> None:
        app = await api.an_app()
        headers = [(b"X-SVC-APIKEY", app.key.encode()), (b"Idempotency-Key", key.encode("latin-1"))]

        answer = await api.client.post(
            "/api/v2/swaps",
            json=a_body(),
            headers=headers,
        )

        assert answer.json()["error"]["code"] == "VALIDATION_ERROR"


class TestAboutASwap:
    """Requests about an existing swap, such as setting its refund address."""

    async def test_gives_the_first_answer_again(self, api: Harness) -> None:
        app = await api.an_app()
        path = await self.path(api, app)

        first = await self.post_once(api, app, path, {"refund_address": ALICE})
        again = await self.post_once(api, app, path, {"refund_address": ALICE})

        assert (first.status_code, again.status_code) == (200, 200)
        assert "idempotent-replayed" not in first.headers
        assert again.headers["idempotent-replayed"] == "true"
        assert again.content == first.content

    async def test_refuses_another_body_and_another_swap(self, api: Harness) -> None:
        app = await api.an_app()
        path, other = await self.path(api, app), await self.path(api, app)
        await self.post_once(api, app, path, {"refund_address": ALICE})

        answers = [
            await self.post_once(api, app, path, {"refund_address": BOB}),
            await self.post_once(api, app, other, {"refund_address": ALICE}),
        ]

        codes = [answer.json()["error"]["code"] for answer in answers]
        assert codes == ["IDEMPOTENCY_KEY_REUSED"] * 2

    async def test_is_free_again_after_a_refusal(self, api: Harness) -> None:
        app = await api.an_app()
        path = await self.path(api, app)

        refused = await self.post_once(api, app, path, {"refund_address": "0x12"})
        accepted = await self.post_once(api, app, path, {"refund_address": ALICE})

        assert (refused.status_code, accepted.status_code) == (400, 200)

    async def path(self, api: Harness, app: App) -> str:
        swap_id = (await api.create(app, a_body())).json()["data"]["swap"]["id"]
        return f"/api/v2/swaps/{swap_id}/refund_address"

    async def post_once(
        self, api: Harness, app: App, path: str, body: dict[str, str]
    ) -> httpx.Response:
        headers = {**app.headers, "Idempotency-Key": "k-1"}
        return await api.client.post(path, json=body, headers=headers)


class TestAfterACrash:
    @pytest.mark.fault("A5")
    async def test_a5_expired_claim_is_replaced(self, api: Harness) -> None:
        app = await api.an_app()
        await _claim_without_release(api, app.id)

        early = await api.create(app, a_body(), key="k-1")
        async with api.service.engine.begin() as connection:
            await connection.execute(
                "UPDATE idempotency SET claimed_until = now() - interval '1 second'"
            )
        late = await api.create(app, a_body(), key="k-1")

        assert early.json()["error"]["code"] == "IDEMPOTENCY_KEY_REUSED"  # its body is another one
        assert late.status_code == 200
        assert timedelta(seconds=1) < CLAIM_TERM < timedelta(minutes=1)

    @pytest.mark.fault("A5")
    async def test_a5_request_that_lost_its_claim_creates_no_swap(
        self, api: Harness, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A request that outlasted its claim must not commit after its successor."""
        app = await api.an_app()
        commit = PostgresCreations._commit

        async def take_claim_and_commit(self: object, batch: object) -> object:
            async with api.service.engine.begin() as connection:
                await connection.execute("UPDATE idempotency SET claim = uuidv7()")
            return await commit(self, batch)  # type: ignore[arg-type]

        monkeypatch.setattr(PostgresCreations, "_commit", take_claim_and_commit)
        answer = await api.create(app, a_body(), key="k-1")

        assert answer.json()["error"]["code"] == "IDEMPOTENCY_KEY_IN_PROGRESS"
        assert await api.rows("SELECT id FROM swap") == []
        assert await api.rows("SELECT id FROM outbox") == []


async def _claim_without_release(api: Harness, app_id: object) -> None:
    async with api.service.engine.begin() as connection:
        await connection.execute(
            "INSERT INTO idempotency (app_id, key, body_hash, claim, claimed_until, created_at)"
            f" VALUES ('{app_id}', 'k-1', 'x', uuidv7(), now() + interval '15 seconds', now())"
        )


class TestALostCommit:
    @pytest.fixture
    async def proxied(
        self, database_url: str, redis_url: str, catalogue_file: Path
    ) -> AsyncIterator[tuple[CuttingProxy, Harness]]:
        async with cutting_proxy(database_url) as (proxy, through):
            api = start(through, redis_url, catalogue_file)
            await api.parts.funding.offers.deposit_addresses.refresh()
            yield proxy, api
            await api.stop()

    @pytest.mark.fault("P1")
    @pytest.mark.parametrize("has_key", [True, False])
    async def test_p1_a_creation_is_looked_up_and_answered(
        self, proxied: tuple[CuttingProxy, Harness], has_key: bool
    ) -> None:
        proxy, api = proxied
        app = await api.an_app()
        key = "k-1" if has_key else None
        await api.create(app, a_body(), key=None)

        proxy.lose(CREATED)
        answer = await api.create(app, a_body(), key=key)

        assert (proxy.cuts, answer.status_code) == (1, 200)
        if has_key:
            again = await api.create(app, a_body(), key=key)
            assert again.content == answer.content
        assert len(await api.rows("SELECT id FROM swap")) == 2
        assert len(await api.rows("SELECT 1 FROM outbox")) == 2
