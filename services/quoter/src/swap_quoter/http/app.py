"""Where the api and the settler ask for prices: plain ASGI, ready bytes, nothing in between.

A question is a few microseconds of arithmetic, so a framework around it would be most of the cost.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from pydantic import ValidationError

from swap_contracts.public.errors import ErrorCode
from swap_contracts.quoting import QuoteQuestion, RouteQuestion
from swap_quoter import observe
from swap_quoter.domain.refusals import Refusal
from swap_quoter.http.errors import code_of, refusal_answer
from swap_quoter.usecases.give_limits import GiveLimits
from swap_quoter.usecases.give_quotes import GiveQuotes
from swap_quoter.usecases.give_ranges import GiveRanges
from swap_quoter.usecases.list_prices import ListPrices

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Answer = tuple[int, bytes]

BODY_BYTES_MAX: Final = 16_384
OK: Final = 200


class QuoterHttp:
    """`POST /quote`, `/limits` and `/ranges`, `GET /prices`; a 4xx carries a `Refusal`."""

    def __init__(
        self,
        *,
        give_quotes: GiveQuotes,
        give_limits: GiveLimits,
        give_ranges: GiveRanges,
        list_prices: ListPrices,
    ) -> None:
        self._give_quotes = give_quotes
        self._give_limits = give_limits
        self._give_ranges = give_ranges
        self._list_prices = list_prices
        self._answers: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
            "/quote": ("POST", self._quote),
            "/limits": ("POST", self._limits),
            "/ranges": ("POST", self._ranges),
            "/prices": ("GET", self._prices),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "http":
            body = await _body(receive)
            status, answer = self._answer(scope["method"], scope["path"], body)
            await _send(send, status, answer)

    def _answer(self, method: str, path: str, body: bytes | None) -> Answer:
        expected, answer = self._answers.get(path, ("", None))
        if answer is None:
            return refusal_answer(ErrorCode.NOT_FOUND, "There is nothing here")
        if method != expected:
            return refusal_answer(ErrorCode.METHOD_NOT_ALLOWED, f"Only {expected} is answered here")
        if body is None:
            return refusal_answer(ErrorCode.PAYLOAD_TOO_LARGE, "The question is too long")
        try:
            answered = answer(body)
        except Refusal as refusal:
            code = code_of(refusal)
            observe.answered(path[1:], code)
            return refusal_answer(code, str(refusal), refusal.limit_base_units)
        except ValidationError as error:
            observe.answered(path[1:], ErrorCode.VALIDATION_ERROR)
            return refusal_answer(ErrorCode.VALIDATION_ERROR, _first(error))
        observe.answered(path[1:], "ok")
        return OK, answered

    def _quote(self, body: bytes) -> bytes:
        question = QuoteQuestion.model_validate_json(body)
        return self._give_quotes(question).model_dump_json().encode()

    def _limits(self, body: bytes) -> bytes:
        question = RouteQuestion.model_validate_json(body)
        return self._give_limits(question).model_dump_json().encode()

    def _ranges(self, body: bytes) -> bytes:
        question = RouteQuestion.model_validate_json(body)
        return self._give_ranges(question).model_dump_json().encode()

    def _prices(self, _: bytes) -> bytes:
        return self._list_prices().model_dump_json().encode()


def _first(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"


async def _body(receive: Receive) -> bytes | None:
    """Return the body, or None for one that is longer than any question."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return b""
        part = message.get("body", b"")
        size += len(part)
        if size <= BODY_BYTES_MAX:
            parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts) if size <= BODY_BYTES_MAX else None


async def _send(send: Send, status: int, body: bytes) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
