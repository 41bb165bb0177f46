"""The log of requests: recorded members, omitted ones, and its readers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from api_factories import a_body
from api_harness import App, Harness
from people import Person, a_colleague, an_owner, join

from swap_api.model.keys import KeyKind
from swap_api.model.members import Role
from swap_api.request_log.decide.records import AnsweredRequest
from swap_api.request_log.store.records import PostgresRequestRecords
from swap_api.request_log.usecases.record_requests import (
    OF_APP_MAX,
    READS_OF_APP_MAX,
    RecordRequests,
)
from swap_contracts.public.management import ApiRequestModel
from swap_runtime.errors import Unavailable
from swap_runtime.telemetry.metrics import REGISTRY

pytestmark = pytest.mark.connected
SIGNATURE = "0x" + "11" * 65


async def a_reader(api: Harness, app: App) -> Person:
    return await join(api, str(app.organization_id), Role.VIEWER)


async def recorded(api: Harness, reader: Person, app: App, **query: Any) -> list[dict[str, Any]]:
    await api.parts.request_log.record_requests.save()
    answer = await reader.get(f"/apps/{app.id}/requests", params=query)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["data"])


def unrecorded(because: str) -> float:
    name = "swap_api_requests_unrecorded_total"
    return REGISTRY.get_sample_value(name, {"because": because}) or 0.0


class TestRequestLog:
    async def test_shows_the_request_and_the_response(self, api: Harness) -> None:
        app = await api.an_app()
        reader = await a_reader(api, app)
        created = await api.create(app, a_body(reference_id="order-7"), **{"X-Request-Id": "mine"})
        swap_id = created.json()["data"]["swap"]["id"]
        missing = await api.get(app, f"/swaps/{uuid4()}")
        wrong = await api.post(app, "/swaps", {"amount": "1", "Passwort": app.key})
        unknown_path = await api.get(app, "/nowhere")
        signed = await api.post(
            app, f"/swaps/{swap_id}/authorize", {"signature": SIGNATURE, "signer_address": "0x1"}
        )

        rows = await recorded(api, reader, app)

        newest, lost, refused, unknown, first = rows
        ApiRequestModel.model_validate(first)
        assert (first["request_id"], first["status"], first["error_code"]) == ("mine", 200, None)
        assert first["route"] == "/api/v2/swaps"
        assert '"order-7"' in first["body"]
        assert first["key_last_four"] == app.key[-4:]
        assert (unknown["status"], unknown["error_code"]) == (404, "NOT_FOUND")
        assert unknown["request_id"] == missing.headers["x-request-id"]
        assert refused["status"] == wrong.status_code == 400
        assert (lost["route"], lost["status"]) == (None, unknown_path.status_code)
        assert newest["swap_id"] == swap_id
        assert newest["status"] == signed.status_code
        stored = str(await api.rows("SELECT * FROM request_record"))
        assert app.key not in stored
        assert SIGNATURE not in stored
        assert "Passwort" not in stored

    async def test_marks_requests_from_pages_that_are_not_allowed(self, api: Harness) -> None:
        app = await api.an_app()
        key = await api.another_key(
            app, KeyKind.PUBLISHABLE, allowed_origins=["https://shop.example"]
        )
        reader = await a_reader(api, app)
        await api.get(key, "/networks")

        [row] = await recorded(api, reader, app)

        assert (row["route"], row["key_id"]) == ("/api/v2/networks", str(key.key_id))
        assert (row["status"], row["error_code"]) == (403, "API_KEY_FORBIDDEN")

    async def test_filters_and_continues_after_a_record(self, api: Harness) -> None:
        app = await api.an_app()
        reader = await a_reader(api, app)
        for _ in range(3):
            await api.get(app, f"/swaps/{uuid4()}")
        last = await api.get(app, "/health")

        first = await reader.get(f"/apps/{app.id}/requests")
        assert first.json()["data"] == []  # nothing is saved yet
        assert len(await recorded(api, reader, app, failed_only=True)) == 3
        assert len(await recorded(api, reader, app, http_status=404)) == 3
        assert len(await recorded(api, reader, app, http_status=200)) == 1
        assert len(await recorded(api, reader, app, route="/api/v2/swaps/{swapId}")) == 3
        assert await recorded(api, reader, app, without_key=str(app.key_id)) == []
        assert len(await recorded(api, reader, app, without_key=str(uuid4()))) == 4
        own_id = last.headers["x-request-id"]
        assert len(await recorded(api, reader, app, request_id=own_id)) == 1
        soon = (datetime.now(UTC) + timedelta(minutes=1)).isoformat()
        assert await recorded(api, reader, app, since=soon) == []
        page = await reader.get(f"/apps/{app.id}/requests", params={"page_size": 3})
        rest = await reader.get(
            page.headers["link"].split(">")[0][1:].removeprefix("/management/v1")
        )
        assert [len(part.json()["data"]) for part in (page, rest)] == [3, 1]
        assert "link" not in rest.headers

    async def test_has_only_requests_of_one_app(self, api: Harness) -> None:
        app, outsider = await api.an_app(), await an_owner(api)
        own = await outsider.an_app()
        await api.get(app, "/health")
        reader = await a_reader(api, app)
        [record] = await recorded(api, reader, app)

        behind = await outsider.get(
            f"/apps/{own}/requests", params={"starting_after": record["id"]}
        )

        assert (await outsider.get(f"/apps/{app.id}/requests")).status_code == 404
        assert behind.json()["data"] == []
        viewer = await a_colleague(outsider, Role.VIEWER)
        assert (await viewer.get(f"/apps/{own}/requests")).json()["data"] == []

    async def test_has_no_request_without_a_key(self, api: Harness) -> None:
        owner = await an_owner(api)
        await owner.get("/me")
        await api.client.get("/api/v2/health")
        await api.client.get("/api/v2/health", headers={"X-SVC-APIKEY": "svc_test_unknown"})
        await api.parts.request_log.record_requests.save()

        assert await api.rows("SELECT id FROM request_record") == []

    async def test_samples_reads_and_counts_the_rest(self, api: Harness) -> None:
        app = await api.an_app()
        before = unrecorded("too many")
        reader = await a_reader(api, app)
        for _ in range(READS_OF_APP_MAX + 3):
            await api.get(app, "/health")
        for _ in range(OF_APP_MAX - READS_OF_APP_MAX + 2):
            await api.get(app, f"/swaps/{uuid4()}")

        rows = await recorded(api, reader, app, page_size=100)

        assert len(rows) == OF_APP_MAX
        assert unrecorded("too many") - before == 5
        assert len(await recorded(api, reader, app, http_status=200)) == READS_OF_APP_MAX

    async def test_costs_a_request_no_statement(self, api: Harness) -> None:
        app = await api.an_app()
        await api.get(app, "/health")

        with api.statements() as seen:
            await api.get(app, "/health")
        assert seen.texts == []
        with api.statements() as seen:
            await api.parts.request_log.record_requests.save()
        assert len(seen.texts) == 1


class UnavailableRecords(PostgresRequestRecords):
    async def add(self, rows: object) -> None:
        raise Unavailable("postgres")


def an_answer(app_id: UUID) -> AnsweredRequest:
    return AnsweredRequest(
        app_id=app_id,
        key_id=uuid4(),
        request_id="r",
        method="POST",
        route="/api/v2/swaps",
        status=200,
        error_code=None,
        milliseconds=1,
        swap_id=None,
        body=None,
    )


class Log:
    """A log with a clock that a test sets."""

    def __init__(self, records: PostgresRequestRecords, **settings: Any) -> None:
        self.now = datetime.now(UTC)
        self.record = RecordRequests(
            records,
            declared={},
            clock=lambda: self.now,
            new_id=uuid4,
            **{"retention": timedelta(days=7), "retained_per_app": 100, **settings},
        )


class TestRetention:
    async def test_drops_what_is_old(self, api: Harness) -> None:
        log, app_id = Log(PostgresRequestRecords(api.service.engine)), uuid4()
        log.record(an_answer(app_id))
        log.now += timedelta(days=6)
        log.record(an_answer(app_id))
        await log.record.save()

        log.now += timedelta(days=1, seconds=1)
        assert await log.record.forget_old() is False

        assert len(await api.rows("SELECT id FROM request_record")) == 1

    async def test_keeps_the_newest_of_an_app(self, api: Harness) -> None:
        log = Log(PostgresRequestRecords(api.service.engine), retained_per_app=3)
        busy, quiet = uuid4(), uuid4()
        for app_id in (quiet, *[busy] * 5):
            log.now += timedelta(seconds=1)
            log.record(an_answer(app_id))
        await log.record.save()

        await log.record.forget_old()

        left = await api.rows("SELECT app_id, count(*) AS n, min(at) AS oldest FROM request_record"
                              " GROUP BY app_id")  # fmt: skip
        assert {row.app_id: row.n for row in left} == {busy: 3, quiet: 1}
        [oldest] = [row.oldest for row in left if row.app_id == busy]
        assert oldest == log.now - timedelta(seconds=2)

    async def test_drops_and_counts_while_postgres_is_away(self, api: Harness) -> None:
        log, before = Log(UnavailableRecords(api.service.engine)), unrecorded("postgres is away")
        log.record(an_answer(uuid4()))

        await log.record.save()
        await log.record.save()

        assert unrecorded("postgres is away") - before == 1

    async def test_of_zero_stores_no_records(self, api: Harness) -> None:
        log = Log(PostgresRequestRecords(api.service.engine), retention=timedelta(0))
        log.record(an_answer(uuid4()))

        await log.record.save()

        assert await api.rows("SELECT id FROM request_record") == []


@pytest.mark.parametrize("wanted", ["status = 404 AND record.status >= 400", "request_id = 'r'"])
async def test_a_filter_has_an_index(api: Harness, wanted: str) -> None:
    plan = await api.plan(
        f"SELECT id FROM request_record AS record WHERE app_id = $1 AND record.{wanted}"
        " ORDER BY at DESC, id DESC LIMIT 20"
    )

    assert any("Index Scan using request_record_" in line for line in plan), plan
