"""The application that the api and the settler ask for prices, on Starlette's router."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Final

from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from swap_contracts.envelope import render_json
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
from swap_quoter.http.errors import code_of, refusal_body, refusal_response
from swap_quoter.usecases.give_limits import GiveLimits
from swap_quoter.usecases.give_quotes import GiveQuotes
from swap_quoter.usecases.give_ranges import GiveRanges
from swap_quoter.usecases.list_prices import ListPrices
from swap_runtime.http.request_body import body_of
from swap_runtime.http.routing import ExactRoute, methods_at

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
            ExactRoute("/quote", self._quote, methods=["POST"]),
            ExactRoute("/quotes", self._quotes, methods=["POST"]),
            ExactRoute("/limits", self._limits, methods=["POST"]),
            ExactRoute("/ranges", self._ranges, methods=["POST"]),
            ExactRoute("/prices", self._prices, methods=["GET"]),
        ]

    async def _quote(self, request: Request) -> Response:
        question = QuoteQuestion.model_validate_json(await _body(request))
        answer = self._give_quotes(question)
        if answer.explanation is not None:
            return _answer(request, answer.model_dump_json().encode())
        return _answer(request, render_json(answer))

    async def _quotes(self, request: Request) -> Response:
        questions = QuoteQuestions.model_validate_json(await _body(request)).questions
        outcomes = tuple(self._outcome(question) for question in questions)
        answer = QuotesAnswer.from_trusted({"outcomes": outcomes})
        if any(question.explain for question in questions):
            return _answer(request, answer.model_dump_json().encode())
        return _answer(request, render_json(answer))

    def _outcome(self, question: QuoteQuestion) -> QuoteOutcome:
        try:
            answer = self._give_quotes(question)
        except Refusal as refusal:
            observe.answer_counted("quote", code_of(refusal))
            return QuoteOutcome(refusal=refusal_body(refusal))
        observe.answer_counted("quote", "ok")
        return QuoteOutcome.from_trusted({"answer": answer, "refusal": None})

    async def _limits(self, request: Request) -> Response:
        question = RouteQuestion.model_validate_json(await _body(request))
        return _answer(request, self._give_limits(question).model_dump_json().encode())

    async def _ranges(self, request: Request) -> Response:
        question = RouteQuestion.model_validate_json(await _body(request))
        return _answer(request, self._give_ranges(question).model_dump_json().encode())

    async def _prices(self, request: Request) -> Response:
        return _answer(request, self._list_prices().model_dump_json().encode())


def quoter_app(
    endpoints: QuoterEndpoints,
    *,
    is_known: Callable[[], bool],
    timer: Callable[[], float] = perf_counter,
) -> Router:
    """
    :param is_known: whether all of the market was read; before, everything is refused with 503.
    """
    routes = endpoints.routes()

    async def not_served(scope: Scope, receive: Receive, send: Send) -> None:
        if allowed := methods_at(routes, scope["path"]):
            words = f"Only {', '.join(sorted(allowed))} is answered here"
            refusal = refusal_response(ErrorCode.METHOD_NOT_ALLOWED, words)
        else:
            refusal = refusal_response(ErrorCode.NOT_FOUND, "There is nothing here")
        await refusal(scope, receive, send)

    return Router(
        routes,
        redirect_slashes=False,
        default=not_served,
        middleware=[
            Middleware(Timing, routes=routes, timer=timer),
            Middleware(Refusals, is_known=is_known),
        ],
    )


class Timing:
    """Middleware that counts how long each response takes, refusals included."""

    def __init__(
        self, app: ASGIApp, *, routes: Sequence[Route], timer: Callable[[], float]
    ) -> None:
        self._app = app
        self._paths = {route.path for route in routes}
        self._timer = timer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = self._timer()
        await self._app(scope, receive, send)
        if scope["path"] in self._paths:
            observe.request_answered(_name(scope), self._timer() - began)


class Refusals:
    """Middleware that answers refusals; until the market is known it refuses everything with 503.

    Clients repeat such requests. "No rate" or "no liquidity" would end a swap that needs a price.
    """

    def __init__(self, app: ASGIApp, *, is_known: Callable[[], bool]) -> None:
        self._app = app
        self._is_known = is_known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._is_known():
            refusal = refusal_response(ErrorCode.SERVICE_UNAVAILABLE, "Prices are being read")
            return await refusal(scope, receive, send)
        try:
            return await self._app(scope, receive, send)
        except Refusal as error:
            refusal = _answer_refusal(scope, error)
        except ValidationError as error:
            refusal = _invalid(scope, error)
        except HTTPException:  # of `body_of` alone
            refusal = refusal_response(ErrorCode.PAYLOAD_TOO_LARGE, "The question is too long")
        return await refusal(scope, receive, send)


async def _body(request: Request) -> bytes:
    return await body_of(request, bytes_max=BODY_BYTES_MAX)


def _answer(request: Request, content: bytes) -> Response:
    observe.answer_counted(_name(request.scope), "ok")
    return Response(content, media_type="application/json")


def _answer_refusal(scope: Scope, error: Refusal) -> Response:
    code = code_of(error)
    observe.answer_counted(_name(scope), code)
    return refusal_response(code, str(error), error.limit_base_units)


def _invalid(scope: Scope, error: ValidationError) -> Response:
    observe.answer_counted(_name(scope), ErrorCode.VALIDATION_ERROR)
    fault = error.errors(include_url=False, include_input=False)[0]
    message = f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
    return refusal_response(ErrorCode.VALIDATION_ERROR, message)


def _name(scope: Scope) -> str:
    path: str = scope["path"]
    return path[1:]
