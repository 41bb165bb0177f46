"""The answers of a lying node before a node with true answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import aiohttp
import orjson
import pytest
from aiohttp import web

from tests.soak.false_nodes import FalseNode
from tests.soak.faults import Kind
from tests.soak.links import HOST, ProxyLoop

LOGS = [{"blockNumber": "0x1"}]
RAW = "0x02"


class CorrectNode:
    """A node of eight blocks that records its requests."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []

    async def answer(self, request: web.Request) -> web.Response:
        messages = orjson.loads(await request.read())
        self.requests += messages
        answers = [{"jsonrpc": "2.0", "id": m["id"], "result": self._result(m)} for m in messages]
        return web.Response(body=orjson.dumps(answers), content_type="application/json")

    def _result(self, message: dict[str, Any]) -> Any:
        match message["method"]:
            case "eth_blockNumber":
                return "0x8"
            case "eth_getLogs":
                return LOGS
            case "eth_getBlockByNumber":
                named = {"latest": "0x8", "finalized": "0x6"}
                return {"number": named.get(message["params"][0], message["params"][0])}
            case _:
                return "0xabc"


@pytest.fixture
def proxies() -> Iterator[ProxyLoop]:
    loop = ProxyLoop()
    yield loop
    loop.stop()


@pytest.fixture
def correct_node() -> CorrectNode:
    return CorrectNode()


@pytest.fixture
async def false_node(proxies: ProxyLoop, correct_node: CorrectNode) -> AsyncIterator[FalseNode]:
    app = web.Application()
    app.router.add_post("/", correct_node.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, HOST, 0).start()
    one = FalseNode(proxies, f"http://{HOST}:{runner.addresses[0][1]}/")
    await asyncio.to_thread(one.open)
    yield one
    await asyncio.to_thread(one.close)
    await runner.cleanup()


async def send_requests(
    false_node: FalseNode, *methods: tuple[str, list[Any]]
) -> tuple[int, bytes]:
    messages = [
        {"jsonrpc": "2.0", "id": n, "method": method, "params": params}
        for n, (method, params) in enumerate(methods)
    ]
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"http://{HOST}:{false_node.port}/", data=orjson.dumps(messages)) as answer,
    ):
        return answer.status, await answer.read()


async def result(false_node: FalseNode, method: str, *params: Any) -> Any:
    status, body = await send_requests(false_node, (method, list(params)))
    assert status == 200
    return orjson.loads(body)[0]["result"]


class TestALiar:
    async def test_hides_only_logs(self, false_node: FalseNode) -> None:
        false_node.kind = Kind.HIDDEN_LOGS

        assert await result(false_node, "eth_getLogs", {}) == []
        assert await result(false_node, "eth_blockNumber") == "0x8"

    async def test_reports_an_old_head_and_no_later_blocks(self, false_node: FalseNode) -> None:
        false_node.kind, false_node.head = Kind.STALE_HEAD, 5

        assert await result(false_node, "eth_blockNumber") == "0x5"
        assert await result(false_node, "eth_getBlockByNumber", "latest", False) == {
            "number": "0x5"
        }
        assert await result(false_node, "eth_getBlockByNumber", "finalized", False) == {
            "number": "0x3"
        }
        assert await result(false_node, "eth_getBlockByNumber", "0x6", False) is None

    async def test_drops_a_transaction_that_it_accepts(
        self, false_node: FalseNode, correct_node: CorrectNode
    ) -> None:
        false_node.kind = Kind.SWALLOWED

        assert len(await result(false_node, "eth_sendRawTransaction", RAW)) == 66
        assert correct_node.requests == []

    async def test_loses_the_answer_to_a_transaction_that_it_sends(
        self, false_node: FalseNode, correct_node: CorrectNode
    ) -> None:
        false_node.kind = Kind.LOST_ANSWERS

        status, _ = await send_requests(false_node, ("eth_sendRawTransaction", [RAW]))

        assert status == 502
        assert [one["method"] for one in correct_node.requests] == ["eth_sendRawTransaction"]

    @pytest.mark.parametrize("kind", [Kind.UNAVAILABLE, Kind.BUSY, Kind.BROKEN])
    async def test_gives_no_answer_that_counts(self, false_node: FalseNode, kind: Kind) -> None:
        false_node.kind = kind

        status, body = await send_requests(false_node, ("eth_blockNumber", []))

        assert status != 200 or b'"result":"0x8"}' not in body
