"""Requests that the pay page forwards to the api: streams within limits, and valid tags."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from swap_dashboard.adapters.pay_api import BASE, HttpPayApi
from swap_dashboard.http.pay import PayPages
from swap_dashboard.http.rendering import Pages
from swap_dashboard.http.stream_slots import StreamSlots
from swap_dashboard.pay_ports import Payer
from tests.support.serving import get, serve
from tests.support.waiting import until

PATH = f"/pay/{uuid4()}/events?token=x"
EVENT = b"id: 1\n\n"


def now() -> datetime:
    return datetime.now(UTC)


class Api:
    """The api's routes of a pay link, with streams that stay open until the test ends them."""

    def __init__(self) -> None:
        self.refusal: tuple[int, str] | None = None
        self.open = 0
        self.ends = asyncio.Event()
        self.known_tags: list[str] = []

    def app(self) -> Starlette:
        routes = [get(f"{BASE}/{{id}}", self.read), get(f"{BASE}/{{id}}/events", self.events)]
        return Starlette(routes=routes)

    async def read(self, request: Request) -> Response:
        self.known_tags.append(request.headers.get("if-none-match", ""))
        return JSONResponse({"data": {}, "error": None}, headers={"etag": '"tag"'})

    async def events(self, _: Request) -> Response:
        if self.refusal is not None:
            status, code = self.refusal
            error = {"code": code, "message": "There is nothing", "metadata": {}}
            return JSONResponse({"data": None, "error": error}, status)
        return StreamingResponse(self._pieces(), media_type="text/event-stream")

    async def _pieces(self) -> AsyncGenerator[bytes, None]:
        self.open += 1
        try:
            yield EVENT
            await self.ends.wait()
        finally:
            self.open -= 1

    async def until_open(self, number: int) -> None:
        async def are_open() -> bool:
            return self.open == number

        await until(are_open, what=f"{number} streams are open", within=5)


@asynccontextmanager
async def a_browser(api: Api, **limits: int) -> AsyncIterator[httpx.AsyncClient]:
    async with serve(api.app()) as url:
        client = HttpPayApi(url, answer_seconds=5, streams_max=9)
        pages = PayPages(
            client,
            Pages(clock=now, version="1"),
            address_of=lambda request: request.headers["x-address"],
            public_url="http://dashboard.test",
            clock=now,
            stream_slots=StreamSlots(**limits),
        )
        transport = httpx.ASGITransport(Starlette(routes=pages.routes()))
        yield httpx.AsyncClient(transport=transport, base_url="http://dashboard.test")
        await client.close()


async def follow(browser: httpx.AsyncClient, address: str = "192.0.2.1") -> httpx.Response:
    return await browser.get(PATH, headers={"x-address": address})


class TestStreams:
    async def test_are_limited_by_address_and_in_all(self) -> None:
        api = Api()
        users = ["192.0.2.1", "192.0.2.1", "2001:db8::1"]
        async with a_browser(api, per_holder=2, in_all=3) as browser:
            opened = [asyncio.create_task(follow(browser, one)) for one in users]
            await api.until_open(3)

            refused = [await follow(browser, one) for one in ("192.0.2.1", "192.0.2.9")]
            api.ends.set()
            ended = await asyncio.gather(*opened)
            again = await follow(browser)

        assert [one.status_code for one in refused] == [503, 503]
        assert all(int(one.headers["retry-after"]) > 0 for one in refused)
        assert [one.content for one in (*ended, again)] == [EVENT] * 4

    async def test_that_are_refused_take_no_slot(self) -> None:
        api = Api()
        api.ends.set()
        async with a_browser(api, per_holder=1, in_all=1) as browser:
            api.refusal = (404, "NOT_FOUND")
            unknown = await follow(browser)
            api.refusal = (503, "SERVICE_UNAVAILABLE")
            away = await follow(browser)
            api.refusal = None
            found = await follow(browser)

        assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "NOT_FOUND")
        assert (away.status_code, found.status_code) == (503, 200)
        assert "retry-after" in away.headers

    async def test_release_their_slot_when_the_browser_disconnects(self) -> None:
        api = Api()
        async with a_browser(api, per_holder=1, in_all=1) as browser:
            left = asyncio.create_task(follow(browser))
            await api.until_open(1)

            left.cancel()
            await api.until_open(0)
            api.ends.set()

            assert (await follow(browser)).status_code == 200

    def test_of_one_ipv6_prefix_share_a_limit(self) -> None:
        slots = StreamSlots(per_holder=1, in_all=9)

        assert slots.take("2001:db8::1")
        assert not slots.take("2001:db8::2")
        assert slots.take("2001:db8:0:1::1")
        slots.release("2001:db8::1")
        assert slots.take("2001:db8::2")


@pytest.mark.parametrize(
    ("tag", "passed"),
    [
        (b'"abc"', '"abc"'),
        (b'W/"abc", "def"', 'W/"abc", "def"'),
        (b'"' + b"a" * 126 + b'"', '"' + "a" * 126 + '"'),
        (b'"' + b"a" * 127 + b'"', ""),
        (b'"\xff"', ""),
        (b'"a\tb"', ""),
    ],
)
async def test_invalid_etag_is_not_forwarded(tag: bytes, passed: str) -> None:
    api = Api()
    headers = {b"x-address": b"192.0.2.1", b"if-none-match": tag}

    async with a_browser(api) as browser:
        answer = await browser.get(PATH.replace("/events", "/data"), headers=headers)

    assert (answer.status_code, api.known_tags) == (200, [passed])


async def test_open_streams_do_not_block_requests() -> None:
    async def endless(_: Any) -> StreamingResponse:
        async def pieces() -> AsyncGenerator[bytes, None]:
            yield EVENT
            await asyncio.Event().wait()

        return StreamingResponse(pieces(), media_type="text/event-stream")

    async def swap(_: Any) -> JSONResponse:
        return JSONResponse({"data": {"id": "1"}, "error": None})

    routes = [Route("/pay/v1/swaps/1/events", endless), Route("/pay/v1/swaps/1", swap)]
    payer = Payer("1", "token", "192.0.2.1")
    async with serve(Starlette(routes=routes)) as url:
        api = HttpPayApi(url, answer_seconds=5, streams_max=1)
        stream = api.events(payer, "")

        assert await anext(stream) == EVENT
        assert await api.swap(payer) == {"id": "1"}
        await stream.aclose()
        await api.close()
