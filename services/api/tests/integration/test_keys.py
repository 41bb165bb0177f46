"""A key opens what it is for, as long as it is open."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from api_factories import ALICE, a_body
from api_harness import Harness
from pydantic import SecretStr
from sqlalchemy import make_url

from swap_api.model.keys import KeyKind
from swap_runtime.postgres.database import create_engine

pytestmark = pytest.mark.connected


class TestKeys:
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
        assert "expired" not in answer.json()["error"]["message"]  # that is said of signatures

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

        await api.parts.admission.callers.save_uses()

        (row,) = await api.rows("SELECT last_used_at FROM api_key")
        assert row.last_used_at is not None

    @pytest.mark.fault("A20")
    async def test_that_are_known_are_told_that_the_process_is_well_without_postgres(
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
