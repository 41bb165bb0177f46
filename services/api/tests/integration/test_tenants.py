"""Somebody else's swap does not exist, on any route; a key opens what it is for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import httpx
import pytest
from api_factories import ALICE, HASH, a_body, a_message, a_swap, an_input
from api_harness import App, Harness
from pydantic import SecretStr
from sqlalchemy import make_url

from swap_api.domain.keys import Environment, KeyKind, Scope
from swap_runtime.database import create_engine

pytestmark = pytest.mark.connected

BY_ID = (
    "/swaps/{id}",
    "/swaps/{id}/deposit_actions",
    "/swaps/{id}?exclude_deposit_actions=true",
    "/experimental/swaps/{id}",
)


async def a_stored_swap(api: Harness, app: App) -> str:
    swap = a_swap(app_id=app.id, transactions=(an_input(),))
    await api.parts.store_swaps([a_message(swap)])
    return str(swap.swap_id)


def told(answer: httpx.Response) -> object:
    """Return what a caller can see, without what differs for every request."""
    content = answer.json()
    content["error"]["metadata"].pop("request_id")
    headers = {
        name: value
        for name, value in answer.headers.items()
        if name not in ("x-request-id", "ratelimit-reset", "content-length")
    }
    return answer.status_code, content, headers


class TestSomebodyElses:
    @pytest.mark.parametrize("path", BY_ID)
    async def test_swap_is_told_like_an_unknown_one(self, api: Harness, path: str) -> None:
        owner, stranger = await api.an_app(), await api.an_app()
        swap_id = await a_stored_swap(api, owner)

        own = await api.get(owner, path.format(id=swap_id))
        foreign = await api.get(stranger, path.format(id=swap_id))
        unknown = await api.get(stranger, path.format(id=uuid4()))

        assert own.status_code == 200
        assert foreign.status_code == 404
        assert told(foreign) == told(unknown)

    async def test_refund_address_is_told_like_an_unknown_ones(self, api: Harness) -> None:
        owner, stranger = await api.an_app(), await api.an_app()
        swap_id = await a_stored_swap(api, owner)

        foreign, unknown = [
            await api.client.post(
                f"/api/v2/swaps/{id}/refund_address",
                json={"refund_address": ALICE},
                headers=stranger.headers,
            )
            for id in (swap_id, uuid4())
        ]

        assert foreign.status_code == 404
        assert told(foreign) == told(unknown)

    @pytest.mark.parametrize("what", ["events", "ledger"])
    async def test_history_is_told_like_an_unknown_ones(self, api: Harness, what: str) -> None:
        owner, stranger = await api.an_app(), await api.an_app()
        swap_id = await a_stored_swap(api, owner)

        foreign, unknown = [
            await api.get(stranger, f"/swaps/{id}/{what}") for id in (swap_id, uuid4())
        ]

        assert foreign.status_code == 404
        assert told(foreign) == told(unknown)

    async def test_authorization_is_told_like_an_unknown_ones(self, api: Harness) -> None:
        owner, stranger = await api.an_app(), await api.an_app()
        swap_id = await a_stored_swap(api, owner)

        foreign, unknown = [
            await api.get(stranger, f"/swaps/{id}/authorize") for id in (swap_id, uuid4())
        ]

        assert foreign.status_code == 404
        assert told(foreign) == told(unknown)

    async def test_transaction_is_told_like_an_unknown_one(self, api: Harness) -> None:
        owner, stranger = await api.an_app(), await api.an_app()
        await a_stored_swap(api, owner)

        own = await api.get(owner, f"/swaps/by_transaction_hash/{HASH.upper().replace('X', 'x')}")
        foreign = await api.get(stranger, f"/swaps/by_transaction_hash/{HASH}")
        unknown = await api.get(stranger, f"/swaps/by_transaction_hash/0x{'00' * 32}")

        assert own.status_code == 200
        assert told(foreign) == told(unknown)

    async def test_swaps_are_in_no_list(self, api: Harness) -> None:
        owner, stranger = await api.an_app(), await api.an_app()
        await a_stored_swap(api, owner)

        for query in ("", f"?address={ALICE}", "?include_expired=true", "?reference_id=order-1"):
            assert len((await api.get(owner, f"/swaps{query}")).json()["data"]) == 1
            answer = await api.get(stranger, f"/swaps{query}")
            assert answer.json()["data"] == []
            assert answer.headers["x-total-count"] == "0"

    async def test_every_route_is_in_this_file(self, api: Harness) -> None:
        """A new route by swap has to be added above."""
        by_swap = {
            e.path
            for e in api.parts.gateway._endpoints.all
            if "{swap" in e.path or "Hash}" in e.path
        }

        assert by_swap == {
            "/api/v2/swaps/{swapId}",
            "/api/v2/experimental/swaps/{swapId}",
            "/api/v2/swaps/{swapId}/deposit_actions",
            "/api/v2/swaps/{swapId}/deposit_speedup",
            "/api/v2/swaps/{swapId}/events",
            "/api/v2/swaps/{swapId}/ledger",
            "/api/v2/swaps/{swapId}/refund_address",
            "/api/v2/swaps/{swapId}/authorize",
            "/api/v2/swaps/{swapId}/attach_deposit",
            "/api/v2/swaps/by_transaction_hash/{transactionHash}",
        }


class TestKeys:
    async def test_every_route_but_the_public_one_asks_for_one(self, api: Harness) -> None:
        endpoints = api.parts.gateway._endpoints.all

        assert [e.path for e in endpoints if e.scope is Scope.NOBODY] == ["/api/swap_rate"]
        for endpoint in (e for e in endpoints if e.scope is not Scope.NOBODY):
            path = endpoint.path.replace("{swapId}", str(uuid4()))
            missing = await api.client.request(endpoint.method, path)
            wrong = await api.client.request(
                endpoint.method, path, headers={"X-SVC-APIKEY": "svc_test_" + "0" * 64}
            )

            assert (missing.status_code, missing.json()["error"]["code"]) == (
                401,
                "API_KEY_REQUIRED",
            )
            assert (wrong.status_code, wrong.json()["error"]["code"]) == (403, "API_KEY_FORBIDDEN")

    async def test_are_shown_once_and_kept_as_a_hash(self, api: Harness) -> None:
        app = await api.an_app()

        (row,) = await api.rows("SELECT * FROM api_key")

        assert app.key.startswith("svc_test_")
        assert len(app.key) == len("svc_test_") + 64
        assert row.last_four == app.key[-4:]
        dumped = repr([tuple(r) for t in ("api_key", "app", "partner")
                       for r in await api.rows(f"SELECT * FROM {t}")])  # fmt: skip
        assert app.key not in dumped
        assert app.key[9:] not in dumped

    async def test_close_when_they_are_revoked_while_others_go_on(self, api: Harness) -> None:
        app = await api.an_app()
        other = await api.another_key(app, KeyKind.SECRET)
        await api.parts.management.keep_keys.revoke(app.key_id)

        assert (await api.get(app, "/health")).status_code == 403
        assert (await api.get(other, "/health")).status_code == 200

    async def test_close_when_they_expire(self, api: Harness) -> None:
        app = await api.an_app()
        ending = await api.another_key(
            app, KeyKind.SECRET, expires_at=datetime.now(UTC) + timedelta(milliseconds=50)
        )

        answer = await api.get(ending, "/health")

        assert answer.status_code == 403

    async def test_of_the_other_environment_see_no_network(self, api: Harness) -> None:
        live = await api.an_app(environment=Environment.LIVE)

        networks = await api.get(live, "/networks")
        created = await api.create(live, a_body())

        assert live.key.startswith("svc_live_")
        assert networks.json()["data"] == []
        assert created.json()["error"]["code"] == "ROUTE_NOT_FOUND_ERROR"

    async def test_that_are_publishable_list_by_address_only(self, api: Harness) -> None:
        app = await api.an_app(kind=KeyKind.PUBLISHABLE)

        everything = await api.get(app, "/swaps")
        by_address = await api.get(app, f"/swaps?address={ALICE}")

        assert app.key.startswith("svc_test_pub_")
        assert (everything.status_code, by_address.status_code) == (403, 200)
        assert (await api.create(app, a_body())).status_code == 200

    async def test_remember_when_they_were_used(self, api: Harness) -> None:
        app = await api.an_app()
        await api.get(app, "/health")

        await api.parts.callers.save_uses()

        (row,) = await api.rows("SELECT last_used_at FROM api_key")
        assert row.last_used_at is not None

    async def test_that_are_known_are_told_that_the_process_is_well_without_postgres(
        self, api: Harness, database_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("swap_api.adapters.callers.REMEMBERED_FOR", timedelta(seconds=-1))
        app, stranger = await api.an_app(), await api.an_app()
        await api.get(app, "/health")
        url = make_url(database_url).set(port=1).render_as_string(hide_password=False)
        away = create_engine(SecretStr(url), application_name="away")
        monkeypatch.setattr(api.parts.callers, "_engine", away)

        statuses = [
            (await api.get(key, path)).status_code
            for key, path in ((app, "/health"), (app, "/networks"), (stranger, "/health"))
        ]
        nobody = await api.client.get("/api/v2/health")

        assert statuses == [200, 503, 503]
        assert nobody.status_code == 401

    async def test_cost_no_query_once_they_are_known(self, api: Harness) -> None:
        app = await api.an_app()
        await api.get(app, "/health")

        with api.statements() as seen:
            for _ in range(10):
                await api.get(app, "/health")

        assert seen.texts == []
