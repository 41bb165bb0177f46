"""The rights of a key, until it is revoked."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from time import monotonic
from uuid import uuid4

import httpx
import pytest
from api_factories import ALICE, a_body
from api_harness import App, Harness
from pydantic import SecretStr
from sqlalchemy import make_url

from swap_api.admission.store.callers import CACHE_TTL
from swap_api.model.keys import KeyKind
from swap_api.model.members import OPERATOR
from swap_runtime.postgres.database import create_engine

pytestmark = pytest.mark.connected

SHOP = "https://shop.example"


class TestKeys:
    async def test_are_shown_once_and_stored_as_a_hash(self, api: Harness) -> None:
        app = await api.an_app()

        (row,) = await api.rows("SELECT * FROM api_key")

        assert app.key.startswith("svc_test_")
        assert len(app.key) == len("svc_test_") + 64
        assert row.last_four == app.key[-4:]
        dumped = repr([tuple(r) for t in ("api_key", "app", "partner")
                       for r in await api.rows(f"SELECT * FROM {t}")])  # fmt: skip
        assert app.key not in dumped
        assert app.key[9:] not in dumped

    async def test_are_refused_once_revoked_and_others_are_not(self, api: Harness) -> None:
        app = await api.an_app()
        other = await api.another_key(app, KeyKind.SECRET)
        await api.parts.management.manage_keys.revoke(app.key_id)

        assert (await api.get(app, "/health")).status_code == 403
        assert (await api.get(other, "/health")).status_code == 200

    async def test_close_when_they_expire(self, api: Harness) -> None:
        app = await api.an_app()
        later = datetime.now(UTC) + timedelta(hours=1)
        ending = await api.another_key(app, KeyKind.SECRET, expires_at=later)
        api.parts.admission.callers._clock = lambda: later

        answer = await api.post(ending, f"/swaps/{uuid4()}/authorize", {})

        assert answer.status_code == 403
        assert "expired" not in answer.json()["error"]["message"]  # that word is for signatures

    async def test_that_are_publishable_list_by_address_only(self, api: Harness) -> None:
        app = await api.an_app(kind=KeyKind.PUBLISHABLE)

        all_of_them = await api.get(app, "/swaps")
        by_address = await api.get(app, f"/swaps?address={ALICE}")

        assert app.key.startswith("svc_test_pub_")
        assert (all_of_them.status_code, by_address.status_code) == (403, 200)
        assert (await api.create(app, a_body())).status_code == 200

    async def test_remember_when_they_were_used(self, api: Harness) -> None:
        app = await api.an_app()
        await api.get(app, "/health")

        await api.parts.admission.callers.save_uses()

        (row,) = await api.rows("SELECT last_used_at FROM api_key")
        assert row.last_used_at is not None

    @pytest.mark.fault("A20")
    async def test_that_are_known_get_a_healthy_answer_without_postgres(
        self, api: Harness, database_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("swap_api.admission.store.callers.CACHE_TTL", timedelta(seconds=-1))
        app, other_app = await api.an_app(), await api.an_app()
        await api.get(app, "/health")
        url = make_url(database_url).set(port=1).render_as_string(hide_password=False)
        away = create_engine(SecretStr(url), application_name="away")
        monkeypatch.setattr(api.parts.admission.callers, "_engine", away)

        statuses = [
            (await api.get(key, path)).status_code
            for key, path in ((app, "/health"), (app, "/networks"), (other_app, "/health"))
        ]
        without_key = await api.client.get("/api/v2/health")

        assert statuses == [200, 503, 503]
        assert without_key.status_code == 401

    async def test_cost_no_query_once_they_are_known(self, api: Harness) -> None:
        app = await api.an_app()
        await api.get(app, "/health")

        with api.statements() as seen:
            for _ in range(10):
                await api.get(app, "/health")

        assert seen.texts == []


class TestAllowedOrigins:
    @pytest.mark.parametrize(
        "sent",
        [
            {},
            {"Origin": "null"},
            {"Origin": "https://thief.example"},
            {"Origin": "https://shop.example.thief.example"},
            {"Origin": "http://shop.example"},
            {"Origin": "https://shop.example:8443"},
            {"Referer": "https://shop.example/cart"},
        ],
    )
    async def test_refuse_requests_of_other_origins(
        self, api: Harness, sent: dict[str, str]
    ) -> None:
        key = await a_key_of_pages(api, SHOP)

        refused = await api.create(key, a_body(), key="once", **sent)

        assert (refused.status_code, error_code(refused)) == (403, "API_KEY_FORBIDDEN")
        assert refused.headers["access-control-allow-origin"] == "*"  # the page can read the reason
        assert await api.rows("SELECT id FROM swap") == []
        assert (await api.create(key, a_body(), key="once", Origin=SHOP)).status_code == 200

    async def test_accept_requests_of_every_listed_origin(self, api: Harness) -> None:
        key = await a_key_of_pages(api, SHOP, "http://localhost:3000")

        answers = [await ask(api, key, origin) for origin in (SHOP, "http://localhost:3000")]

        assert [answer.status_code for answer in answers] == [200, 200]

    async def test_are_no_matter_to_other_keys(self, api: Harness) -> None:
        key = await a_key_of_pages(api, SHOP)
        others = [await api.another_key(key, kind) for kind in KeyKind]

        answers = [await ask(api, other, "https://thief.example") for other in others]

        assert [answer.status_code for answer in answers] == [200, 200]

    async def test_spare_the_rate_of_the_app(self, api: Harness) -> None:
        app = await api.an_app(is_lifted=False, reads=1, ceiling_factor=1)
        key = await api.another_key(app, KeyKind.PUBLISHABLE, allowed_origins=[SHOP])

        elsewhere = [await ask(api, key, "https://thief.example", path) for path in
                     ("/api/v2/health", "/api/v2/nothing") * 3]  # fmt: skip

        assert {answer.status_code for answer in elsewhere} == {403, 404}
        assert [(await ask(api, key, SHOP)).status_code for _ in range(3)] == [200, 200, 429]

    async def test_leave_preflights_to_every_page(self, api: Harness) -> None:
        """A preflight names no key."""
        await a_key_of_pages(api, SHOP)
        preflight = {
            "Origin": "https://thief.example",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "x-svc-apikey",
        }

        answer = await api.client.options("/api/v2/swaps", headers=preflight)

        assert answer.status_code == 204
        assert answer.headers["access-control-allow-headers"] == "x-svc-apikey"

    async def test_hold_as_soon_as_a_key_is_looked_up_again(
        self, api: Harness, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        app = await api.an_app(kind=KeyKind.PUBLISHABLE)
        assert (await ask(api, app, None)).status_code == 200
        monkeypatch.setattr(
            "swap_api.admission.store.callers.monotonic",
            lambda: monotonic() + CACHE_TTL.total_seconds(),
        )

        await api.parts.management.manage_keys.set_allowed_origins(
            app.key_id, [SHOP], actor=OPERATOR
        )

        assert (await ask(api, app, None)).status_code == 403
        assert (await ask(api, app, SHOP)).status_code == 200


async def a_key_of_pages(api: Harness, *origins: str) -> App:
    """Return a publishable key for web pages of some origins."""
    app = await api.an_app()
    return await api.another_key(app, KeyKind.PUBLISHABLE, allowed_origins=origins)


async def ask(
    api: Harness, key: App, origin: str | None, path: str = "/api/v2/health"
) -> httpx.Response:
    sent = {} if origin is None else {"Origin": origin}
    return await api.client.get(path, headers={**key.headers, **sent})


def error_code(answer: httpx.Response) -> str:
    return str(answer.json()["error"]["code"])
