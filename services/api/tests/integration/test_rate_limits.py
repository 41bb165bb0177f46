"""Rate limits: counted in Redis, told in headers, and never in anybody's way for long."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Iterator
from pathlib import Path

import httpx
import pytest
from api_factories import a_body
from api_harness import Harness, start

from swap_api.domain.keys import KeyKind

pytestmark = pytest.mark.connected


class TestLimits:
    async def test_refuse_what_is_over_and_say_until_when(self, api: Harness) -> None:
        app = await api.an_app(kind=KeyKind.PUBLISHABLE, is_lifted=False, creates=2)

        answers = [await api.create(app, a_body()) for _ in range(5)]

        assert [answer.status_code for answer in answers] == [200, 200, 200, 200, 429]
        refused = answers[-1]
        assert refused.json()["error"]["code"] == "RATE_LIMITED"
        assert 1 <= int(refused.headers["retry-after"]) <= 30
        assert refused.headers["ratelimit-reset"] == refused.headers["retry-after"]
        assert refused.headers["ratelimit-remaining"] == "0"
        told = [answer.headers["ratelimit-remaining"] for answer in answers[:4]]
        assert told == ["3", "2", "1", "0"]
        assert (await api.get(app, "/health")).status_code == 200

    async def test_tell_clients_of_a_publishable_key_apart(self, api: Harness) -> None:
        app = await api.an_app(kind=KeyKind.PUBLISHABLE, is_lifted=False, reads=1)
        for _ in range(3):
            crowded = await api.get(app, "/health")
        api.client._transport.client = ("198.51.100.1", 1)  # type: ignore[attr-defined]

        assert crowded.status_code == 429
        assert (await api.get(app, "/health")).status_code == 200

    async def test_a15_keep_the_whole_app_under_its_ceiling(self, api: Harness) -> None:
        app = await api.an_app(kind=KeyKind.PUBLISHABLE, is_lifted=False, reads=1, ceiling_factor=2)

        statuses = []
        for n in range(5):
            api.client._transport.client = (f"198.51.100.{n}", 1)  # type: ignore[attr-defined]
            statuses.append((await api.get(app, "/health")).status_code)

        assert statuses == [200] * 4 + [429]

    async def test_a15_do_not_believe_a_header_of_whoever_comes(self, api: Harness) -> None:
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

        told = [await ask(**app.headers) for _ in range(3)]
        strange = [await ask(), await ask(**{"X-SVC-APIKEY": "svc_test_unknown"})]

        assert [one.status_code for one in told] == [status, status, 429]
        assert told[0].headers["ratelimit-remaining"] == "1"
        assert [one.status_code for one in strange] == [status, status]
        assert not any("ratelimit-limit" in one.headers for one in strange)

    async def test_lifted_still_say_where_the_caller_stands(self, api: Harness) -> None:
        app = await api.an_app(is_lifted=True, reads=1, ceiling_factor=1)

        answers = [await api.get(app, "/health") for _ in range(5)]

        assert {answer.status_code for answer in answers} == {200}
        assert answers[-1].headers["ratelimit-remaining"] == answers[-1].headers["ratelimit-limit"]


@pytest.fixture
def black_hole() -> Iterator[str]:
    """A Redis that takes connections and never says a word."""
    with socket.socket() as hole:
        hole.bind(("127.0.0.1", 0))
        hole.listen(128)
        yield f"redis://127.0.0.1:{hole.getsockname()[1]}/0"


@pytest.fixture
async def api_without_redis(
    database_url: str, black_hole: str, catalogue_file: Path
) -> AsyncIterator[Harness]:
    harness = start(database_url, black_hole, catalogue_file)
    yield harness
    await harness.stop()


class TestWithoutRedis:
    async def test_r1r_answers_stay_quick(self, api_without_redis: Harness) -> None:
        api = api_without_redis
        app = await api.an_app(is_lifted=False)

        async with asyncio.timeout(20):  # one call to a black hole takes three times as long
            answers = await asyncio.gather(*(api.get(app, "/health") for _ in range(50)))

        assert {answer.status_code for answer in answers} == {200}

    async def test_r1r_this_process_counts_by_itself(self, api_without_redis: Harness) -> None:
        api = api_without_redis
        app = await api.an_app(kind=KeyKind.PUBLISHABLE, is_lifted=False, reads=1)

        statuses = [(await api.get(app, "/health")).status_code for _ in range(3)]

        assert statuses == [200, 200, 429]
