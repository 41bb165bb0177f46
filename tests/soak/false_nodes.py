"""Nodes with wrong answers: each is a proxy before a real one and changes its answers."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import aiohttp
import orjson
from aiohttp import web
from eth_utils.crypto import keccak

from tests.soak.faults import Kind
from tests.soak.links import HOST, ProxyLoop

SEND: Final = "eth_sendRawTransaction"
BEHIND_HEAD: Final = 2  # blocks between a development chain's head and its final block
Message = dict[str, Any]


class FalseNode:
    """One lying node before a chain. A link leads to it only while it lies."""

    def __init__(self, proxies: ProxyLoop, target: str) -> None:
        self.kind = Kind.UNAVAILABLE
        self.head = 0  # the highest block that it reports
        self.port = 0
        self._target = target
        self._proxies = proxies
        self._runner: web.AppRunner | None = None
        self._session: aiohttp.ClientSession | None = None

    def open(self) -> None:
        self._proxies.run(self._listen())

    def close(self) -> None:
        self._proxies.run(self._stop())

    async def _listen(self) -> None:
        self._session = aiohttp.ClientSession()
        app = web.Application(client_max_size=2**24)
        app.router.add_post("/", self._answer)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, HOST, 0).start()
        self.port = self._runner.addresses[0][1]

    async def _stop(self) -> None:
        if self._runner is not None and self._session is not None:
            await self._runner.cleanup()
            await self._session.close()

    async def _answer(self, request: web.Request) -> web.Response:
        request_body = orjson.loads(await request.read())
        messages: list[Message] = request_body if isinstance(request_body, list) else [request_body]
        if self.kind is Kind.UNAVAILABLE:
            return web.Response(status=HTTPStatus.SERVICE_UNAVAILABLE)
        if self.kind is Kind.BUSY:
            return _as_json([limit_exceeded(one) for one in messages], request_body)
        forwarded = [self._change(one) for one in messages if not self._is_dropped(one)]
        by_id = {one["id"]: one for one in await self._forward(forwarded)}
        if self.kind is Kind.LOST_ANSWERS and any(one["method"] == SEND for one in messages):
            return web.Response(status=HTTPStatus.BAD_GATEWAY)
        answers = [
            accept(one) if self._is_dropped(one) else self._falsify(one, by_id[one["id"]])
            for one in messages
        ]
        answer = _as_json(answers, request_body)
        if self.kind is Kind.BROKEN:
            assert isinstance(answer.body, bytes)
            answer.body = answer.body[: len(answer.body) // 2]
        return answer

    async def _forward(self, messages: list[Message]) -> list[Message]:
        if not messages:
            return []
        assert self._session is not None
        data, headers = orjson.dumps(messages), {"content-type": "application/json"}
        async with self._session.post(self._target, data=data, headers=headers) as answer:
            answers: list[Message] = await answer.json(content_type=None)
        return answers

    def _is_dropped(self, message: Message) -> bool:
        return self.kind is Kind.SWALLOWED and message["method"] == SEND

    def _change(self, message: Message) -> Message:
        """Request an older block in place of the newest one."""
        if self.kind is not Kind.STALE_HEAD:
            return message
        return {**message, "params": at_head(message.get("params") or [], self.head)}

    def _falsify(self, message: Message, answer: Message) -> Message:
        method, result = message["method"], answer.get("result")
        if self.kind is Kind.HIDDEN_LOGS and method == "eth_getLogs":
            return {**answer, "result": []}
        if self.kind is not Kind.STALE_HEAD:
            return answer
        if method == "eth_blockNumber":
            return {**answer, "result": hex(min(int(answer["result"], 16), self.head))}
        if isinstance(result, Mapping) and _number_of(result) > self.head:
            return {**answer, "result": None}
        return answer


def at_head(params: list[Any], head: int) -> list[Any]:
    """Return parameters with the newest and the final block of an older head."""
    named = {"latest": head, "pending": head, "safe": head - BEHIND_HEAD}
    named["finalized"] = named["safe"]
    return [
        hex(max(named[one], 0)) if isinstance(one, str) and one in named else one for one in params
    ]


def accept(message: Message) -> Message:
    """Return the hash of a transaction, as a node that accepts it does."""
    sent = keccak(bytes.fromhex(message["params"][0][2:]))
    return {"jsonrpc": "2.0", "id": message["id"], "result": "0x" + sent.hex()}


def limit_exceeded(message: Message) -> Message:
    error = {"code": -32005, "message": "limit exceeded"}
    return {"jsonrpc": "2.0", "id": message["id"], "error": error}


def _number_of(result: Mapping[str, Any]) -> int:
    """Return the number of a block, or of the block of a transaction or receipt."""
    for name in ("number", "blockNumber"):
        if isinstance(result.get(name), str):
            return int(result[name], 16)
    return 0


def _as_json(answers: list[Message], request_body: object) -> web.Response:
    body = orjson.dumps(answers if isinstance(request_body, list) else answers[0])
    return web.Response(body=body, content_type="application/json")
