"""Rate limits: counted in Redis, shown in headers, and never delaying a request for long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from api_factories import a_body
from api_harness import Harness, start

from swap_api.admission.adapters.counters import UNAVAILABLE_SECONDS
from swap_api.model.keys import KeyKind

pytestmark = pytest.mark.connected


class TestLimits:
    async def test_refuse_requests_above_the_limit_with_the_time_to_wait(
        self, api: Harness
    ) -> None:
        app = await api.an_app(kind=KeyKind.PUBLISHABLE, is_lifted=False, creates=2)

        answers = [await api.create(app, a_body()) for _ in range(5)]

        assert [answer.status_code for answer in answers] == [200, 200, 200, 200, 429]
        refused = answers[-1]
        assert refused.json()["error"]["code"] == "RATE_LIMITED"
        assert 1 <= int(refused.headers["retry-after"]) <= 30
        assert refused.headers["ratelimit-reset"] == refused.headers["retry-after"]
        assert refused.headers["ratelimit-remaining"] == "0"
        remaining = [answer.headers["ratelimit-remaining"] for answer in answers[:4]]
        assert remaining == ["3", "2", "1", "0"]
        assert (await api.get(app, "/health")).status_code == 200

    async def test_distinguish_clients_of_a_publishable_key(self, api: Harness) -> None:
        app = await api.an_app(kind=KeyKind.PUBLISHABLE, is_lifted=False, reads=1)
        for _ in range(3):
            refused = await api.get(app, "/health")
        api.client._transport.client = ("198.51.100.1", 1)  # type: ignore[attr-defined]

        assert refused.status_code == 429
        assert (await api.get(app, "/health")).status_code == 200

    @pytest.mark.fault("A15")
    async def test_a15_keep_the_whole_app_under_its_ceiling(self, api: Harness) -> None:
        app = await api.an_app(kind=KeyKind.PUBLISHABLE, is_lifted=False, reads=1, ceiling_factor=2)

        statuses = []
        for n in range(5):
            api.client._transport.client = (f"198.51.100.{n}", 1)  # type: ignore[attr-defined]
            statuses.append((await api.get(app, "/health")).status_code)

        assert statuses == [200] * 4 + [429]

    @pytest.mark.fault("A15")
    async def test_a15_ignore_the_header_of_an_untrusted_client(self, api: Harness) -> None:
        app = await api.an_app(kind=KeyKind.PUBLISHABLE, is_lifted=False, reads=1)

        statuses = [
            (
                await api.client.get(
                    "/api/v2/health", headers={**app.headers, "X-Forwarded-For": f"192.0.2.{n}"}
                )
            ).status_code
            for n in range(3)
        ]

        assert statuses == [200, 200, 429]

    @pytest.mark.fault("A15")
    async def test_a15_are_shared_by_the_keys_of_an_app(self, api: Harness) -> None:
        app = await api.an_app(is_lifted=False, reads=1, ceiling_factor=1)
        other = await api.another_key(app, KeyKind.SECRET)

        statuses = [(await api.get(key, "/health")).status_code for key in (app, other, app)]

        assert statuses == [200, 200, 429]

    @pytest.mark.parametrize(
        ("method", "path", "status"), [("GET", "/nothing", 404), ("PATCH", "/networks", 405)]
    )
    async def test_count_what_leads_nowhere(
        self, api: Harness, method: str, path: str, status: int
    ) -> None:
        app = await api.an_app(is_lifted=False, reads=1, ceiling_factor=1)

        def ask(**headers: str) -> Awaitable[httpx.Response]:
            return api.client.request(method, f"/api/v2{path}", headers=headers)

        answers = [await ask(**app.headers) for _ in range(3)]
        unknown_callers = [await ask(), await ask(**{"X-SVC-APIKEY": "svc_test_unknown"})]

        assert [one.status_code for one in answers] == [status, status, 429]
        assert answers[0].headers["ratelimit-remaining"] == "1"
        assert [one.status_code for one in unknown_callers] == [status, status]
        assert not any("ratelimit-limit" in one.headers for one in unknown_callers)

    async def test_lifted_limits_still_return_the_callers_state(self, api: Harness) -> None:
        app = await api.an_app(is_lifted=True, reads=1, ceiling_factor=1)

        answers = [await api.get(app, "/health") for _ in range(5)]

        assert {answer.status_code for answer in answers} == {200}
        assert answers[-1].headers["ratelimit-remaining"] == answers[-1].headers["ratelimit-limit"]


class TestSettings:
    async def test_contain_the_burst_and_the_weight_of_a_request(
        self, database_url: str, redis_url: str, catalogue_file: Path
    ) -> None:
        rates = {"burst_minutes": 5, "weights": {"GET /api/v2/networks": 3}}
        harness = start(database_url, redis_url, catalogue_file, rates=rates)
        app = await harness.an_app(is_lifted=False, reads=1, ceiling_factor=1)

        answers = [
            await harness.get(app, path)
            for path in ("/networks", "/health", "/networks", "/health")
        ]
        await harness.stop()

        assert [answer.status_code for answer in answers] == [200, 200, 429, 200]
        assert {answer.headers["ratelimit-limit"] for answer in answers} == {"5"}
        remaining = [answer.headers["ratelimit-remaining"] for answer in answers]
        assert remaining == ["2", "1", "1", "0"]
        assert 60 < int(answers[2].headers["retry-after"]) <= 120

    async def test_with_weights_of_unknown_endpoints_are_refused_at_the_start(
        self, database_url: str, redis_url: str, catalogue_file: Path
    ) -> None:
        rates = {"weights": {"GET /api/v2/netwroks": 3}}

        with pytest.raises(ValueError, match="no such endpoint: GET /api/v2/netwroks"):
            start(database_url, redis_url, catalogue_file, rates=rates)


class SilentServer:
    """A Redis that accepts connections and never answers during a test."""

    def __init__(self) -> None:
        self.connections = 0

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with suppress(ConnectionError):
            while await reader.read(1000):
                pass  # until the client closes the connection
        writer.close()


@pytest.fixture
def silent_server() -> SilentServer:
    return SilentServer()


@pytest.fixture
async def silent_redis_url(silent_server: SilentServer) -> AsyncIterator[str]:
    async with await asyncio.start_server(silent_server.accept, "127.0.0.1", 0) as server:
        yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0"


@pytest.fixture
async def api_without_redis(
    database_url: str, silent_redis_url: str, catalogue_file: Path
) -> AsyncIterator[Harness]:
    harness = start(database_url, silent_redis_url, catalogue_file)
    yield harness
    await harness.stop()


class TestWithoutRedis:
    @pytest.mark.fault("R1r")
    async def test_r1r_requests_are_answered_while_it_hangs_and_one_a_second_waits(
        self, api_without_redis: Harness, silent_server: SilentServer
    ) -> None:
        """Without the api's own timeout, the first answer would never come in this test."""
        api, loop = api_without_redis, asyncio.get_running_loop()
        app = await api.an_app(is_lifted=False)
        began = loop.time()

        answers = [await api.get(app, "/health") for _ in range(50)]

        # The number of pauses plus the first attempt, on a machine of any speed.
        assert 1 <= silent_server.connections <= 1 + (loop.time() - began) / UNAVAILABLE_SECONDS
        assert {answer.status_code for answer in answers} == {200}

    @pytest.mark.fault("R1r")
    async def test_r1r_concurrent_requests_are_answered_while_it_hangs(
        self, api_without_redis: Harness, silent_server: SilentServer
    ) -> None:
        api = api_without_redis
        app = await api.an_app(is_lifted=False)

        answers = await asyncio.gather(*(api.get(app, "/health") for _ in range(50)))

        assert silent_server.connections
        assert {answer.status_code for answer in answers} == {200}

    @pytest.mark.fault("R1r")
    async def test_r1r_requests_are_counted_in_the_process(
        self, api_without_redis: Harness
    ) -> None:
        api = api_without_redis
        app = await api.an_app(kind=KeyKind.PUBLISHABLE, is_lifted=False, reads=1)

        statuses = [(await api.get(app, "/health")).status_code for _ in range(3)]

        assert statuses == [200, 200, 429]
