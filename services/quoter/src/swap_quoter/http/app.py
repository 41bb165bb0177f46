"""The Starlette application that the api and the settler ask for prices."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from swap_contracts.envelope import rendered
from swap_contracts.public.errors import ErrorCode
from swap_contracts.quoting import (
    QuoteOutcome,
    QuoteQuestion,
    QuoteQuestions,
    QuotesAnswer,
    RouteQuestion,
)
from swap_quoter import observe
from swap_quoter.domain.refusals import Refusal
from swap_quoter.http.errors import code_of, refusal_response, told
from swap_quoter.usecases.give_limits import GiveLimits
from swap_quoter.usecases.give_quotes import GiveQuotes
from swap_quoter.usecases.give_ranges import GiveRanges
from swap_quoter.usecases.list_prices import ListPrices
from swap_runtime.http.request_body import body_of

BODY_BYTES_MAX: Final = 64 * 1024


class QuoterEndpoints:
    """`POST /quote`, `/quotes`, `/limits` and `/ranges`, `GET /prices`.

    A 4xx carries a `Refusal`; of many quotes each is answered or refused by itself.
    """

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

    def routes(self) -> list[Route]:
        return [
            Route("/quote", self._quote, methods=["POST"]),
            Route("/quotes", self._quotes, methods=["POST"]),
            Route("/limits", self._limits, methods=["POST"]),
            Route("/ranges", self._ranges, methods=["POST"]),
            Route("/prices", self._prices, methods=["GET"]),
        ]

    async def _quote(self, request: Request) -> Response:
        question = QuoteQuestion.model_validate_json(await _body(request))
        answer = self._give_quotes(question)
        if answer.explanation is not None:
            return _answered(request, answer.model_dump_json().encode())
        return _answered(request, rendered(answer))

    async def _quotes(self, request: Request) -> Response:
        asked = QuoteQuestions.model_validate_json(await _body(request)).questions
        outcomes = tuple(self._outcome(question) for question in asked)
        answer = QuotesAnswer.trusted({"outcomes": outcomes})
        if any(question.explain for question in asked):
            return _answered(request, answer.model_dump_json().encode())
        return _answered(request, rendered(answer))

    def _outcome(self, question: QuoteQuestion) -> QuoteOutcome:
        try:
            answer = self._give_quotes(question)
        except Refusal as refusal:
            observe.answered("quote", code_of(refusal))
            return QuoteOutcome(refusal=told(refusal))
        observe.answered("quote", "ok")
        return QuoteOutcome.trusted({"answer": answer, "refusal": None})

    async def _limits(self, request: Request) -> Response:
        question = RouteQuestion.model_validate_json(await _body(request))
        return _answered(request, self._give_limits(question).model_dump_json().encode())

    async def _ranges(self, request: Request) -> Response:
        question = RouteQuestion.model_validate_json(await _body(request))
        return _answered(request, self._give_ranges(question).model_dump_json().encode())

    async def _prices(self, request: Request) -> Response:
        return _answered(request, self._list_prices().model_dump_json().encode())


def quoter_app(endpoints: QuoterEndpoints, *, is_known: Callable[[], bool]) -> Starlette:
    """
    :param is_known: whether all of the market was read; before, everything is refused with 503.
    """
    app = Starlette(
        routes=endpoints.routes(),
        middleware=[Middleware(OnceKnown, is_known=is_known)],
        exception_handlers={
            Refusal: _refused,
            ValidationError: _invalid,
            HTTPException: _not_served,
        },
    )
    app.router.redirect_slashes = False
    return app


class OnceKnown:
    """Middleware that refuses requests with 503 until the market is known.

    The client repeats those. "No rate" or "no liquidity" would end a swap that waits for a price.
    """

    def __init__(self, app: ASGIApp, *, is_known: Callable[[], bool]) -> None:
        self._app = app
        self._is_known = is_known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._is_known():
            refusal = refusal_response(ErrorCode.SERVICE_UNAVAILABLE, "Prices are being read")
            return await refusal(scope, receive, send)
        return await self._app(scope, receive, send)


async def _body(request: Request) -> bytes:
    return await body_of(request, bytes_max=BODY_BYTES_MAX)


def _answered(request: Request, content: bytes) -> Response:
    observe.answered(_name(request), "ok")
    return Response(content, media_type="application/json")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    code = code_of(error)
    observe.answered(_name(request), code)
    return refusal_response(code, str(error), error.limit_base_units)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, ValidationError)
    observe.answered(_name(request), ErrorCode.VALIDATION_ERROR)
    fault = error.errors(include_url=False, include_input=False)[0]
    message = f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
    return refusal_response(ErrorCode.VALIDATION_ERROR, message)


async def _not_served(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    match error.status_code:
        case HTTPStatus.METHOD_NOT_ALLOWED:
            allowed = (error.headers or {}).get("Allow", "")
            words = f"Only {allowed} is answered here"
            return refusal_response(ErrorCode.METHOD_NOT_ALLOWED, words)
        case HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return refusal_response(ErrorCode.PAYLOAD_TOO_LARGE, "The question is too long")
        case _:
            return refusal_response(ErrorCode.NOT_FOUND, "There is nothing here")


def _name(request: Request) -> str:
    path: str = request.scope["path"]
    return path[1:]
