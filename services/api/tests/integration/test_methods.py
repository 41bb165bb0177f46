"""Methods of an address: HEAD for every GET, and a 405 that lists them all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
from api_factories import a_message, a_swap
from api_harness import App, Harness

from swap_runtime.http.asgi import AsgiServer

pytestmark = pytest.mark.connected

# Headers that change with each answer.
VARYING_HEADERS = {"x-request-id", "ratelimit-remaining", "ratelimit-reset", "date"}
PUBLIC = ("/openapi.json", "/docs", "/docs/errors")


async def answer_and_facts(
    api: Harness, app: App, method: str, path: str
) -> tuple[httpx.Response, object]:
    """Return an answer, and the parts that must be equal for HEAD and GET."""
    answer = await api.client.request(method, path, headers=app.headers)
    headers = {name: text for name, text in answer.headers.items() if name not in VARYING_HEADERS}
    return answer, (answer.status_code, headers)


class TestHead:
    async def test_is_answered_like_get_without_a_body_everywhere(self, api: Harness) -> None:
        app = await api.an_app()
        swap = a_swap(app_id=app.id)
        await api.parts.swaps.store_swaps([a_message(swap)])
        paths = [one.path for one in api.parts.endpoints if one.method == "GET"]

        for template in (*paths, *PUBLIC):
            path = template.replace("{swapId}", str(swap.swap_id))
            _, expected = await answer_and_facts(api, app, "GET", path)
            head, facts = await answer_and_facts(api, app, "HEAD", path)
            assert facts == expected, path
            assert head.content == b"", path

    @pytest.mark.parametrize(
        ("path", "status"),
        [("/api/v2/nothing", 404), ("/api/v2/swaps/not-a-uuid", 400), ("/api/swap_rate", 405)],
    )
    async def test_is_refused_without_a_body(self, api: Harness, path: str, status: int) -> None:
        answer, _ = await answer_and_facts(api, await api.an_app(), "HEAD", path)

        assert (answer.status_code, answer.content) == (status, b"")
        assert int(answer.headers["content-length"]) > 0

    async def test_counts_as_the_get_that_it_stands_for(self, api: Harness) -> None:
        app = await api.an_app(is_lifted=False, reads=1, ceiling_factor=1)

        answers = [await answer_and_facts(api, app, "HEAD", "/api/v2/errors") for _ in range(3)]

        assert [answer.status_code for answer, _ in answers] == [200, 200, 429]
        assert answers[2][0].headers["retry-after"]
        assert answers[2][0].content == b""

    async def test_returns_304_for_an_unchanged_version(self, api: Harness) -> None:
        app = await api.an_app()
        tag = (await api.get(app, "/networks")).headers["etag"]

        answer = await api.client.head(
            "/api/v2/networks", headers={**app.headers, "If-None-Match": tag}
        )

        assert (answer.status_code, answer.headers["etag"]) == (304, tag)

    async def test_waits_for_no_event_of_a_swap(self, api: Harness) -> None:
        app = await api.an_app()
        swap = a_swap(app_id=app.id)
        await api.parts.swaps.store_swaps([a_message(swap)])

        async with asyncio.timeout(5):
            answer = await api.client.head(
                f"/api/v2/swaps/{swap.swap_id}/events",
                headers={**app.headers, "Accept": "text/event-stream"},
            )

        assert answer.headers["content-type"] == "text/event-stream"
        assert "content-length" not in answer.headers
        assert answer.content == b""


class TestAllow:
    @pytest.mark.parametrize(
        ("method", "path", "allowed"),
        [
            ("DELETE", "/api/v2/swaps", "GET, HEAD, OPTIONS, POST"),
            ("POST", "/api/v2/health", "GET, HEAD, OPTIONS"),
            ("HEAD", "/api/swap_rate", "OPTIONS, POST"),
            ("PUT", "/api/v2/swaps/5e2f/authorize", "GET, HEAD, OPTIONS, POST"),
            ("POST", "/openapi.json", "GET, HEAD, OPTIONS"),
        ],
    )
    async def test_names_what_an_address_answers(
        self, api: Harness, method: str, path: str, allowed: str
    ) -> None:
        refused = await api.client.request(method, path)
        answer = await api.client.options(path)

        assert (refused.status_code, refused.headers["allow"]) == (405, allowed)
        assert (answer.status_code, answer.headers["allow"]) == (204, allowed)


class TestOverAConnection:
    @pytest.fixture
    async def port(self, api: Harness) -> AsyncIterator[int]:
        server = AsgiServer(api.parts.app, "127.0.0.1", 0)
        yield await server.start()
        await server.stop()

    async def test_head_response_has_no_body(self, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        rest = b" /api/v2/health HTTP/1.1\r\nhost: a\r\n\r\n"

        async with asyncio.timeout(10):
            writer.write(b"HEAD" + rest)
            head = await reader.readuntil(b"\r\n\r\n")
            writer.write(b"GET" + rest)
            next_head = await reader.readuntil(b"\r\n\r\n")
        writer.close()

        assert head.startswith(b"HTTP/1.1 401 ")
        assert next_head.startswith(b"HTTP/1.1 401 ")
