"""Pure ASGI middlewares: around every request, and around each endpoint by its declaration.

The order for every request: its id, CORS, the envelope of errors, the address, the key and the rate
limit. Then the names of its parameters, the idempotency key, and the endpoint.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from time import perf_counter
from typing import Final
from uuid import UUID

from starlette.types import ASGIApp, Receive, Scope, Send

from swap_api import observe
from swap_api.admission.usecases.limit_requests import RateLimited
from swap_api.http.admission import Admission
from swap_api.http.endpoints import Endpoint
from swap_api.http.errors import Errors
from swap_api.http.exchange import REQUEST_ID, Exchange, exchange_of
from swap_api.http.requests import Request
from swap_api.http.unknown_names import IGNORED, UnknownNames
from swap_api.model.refusals import ApiRefusal
from swap_api.request_log.decide.records import AnsweredRequest
from swap_runtime.telemetry import tracing
from swap_runtime.telemetry.logging import bind_fields

_SLASHES: Final = re.compile("/{2,}")
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")


class RequestIds:
    """Begins the exchange: a request's id, the time it takes, and the headers of its answer."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        new_request_id: Callable[[], str],
        cacheable: Collection[str],
        record: Callable[[AnsweredRequest], None],
    ) -> None:
        """
        :param cacheable: the addresses with the same answer for all callers.
        :param record: takes requests with API keys after their answers, and does not block.
        """
        self._app = app
        self._record = record
        self._new_request_id = new_request_id
        self._cacheable = cacheable

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = perf_counter()
        if "//" in scope["path"]:
            scope["path"] = _SLASHES.sub("/", scope["path"])
        request = Request(scope, receive)
        sent_id = request.header(REQUEST_ID) or ""
        is_id = _REQUEST_ID.fullmatch(sent_id)
        exchange = Exchange(request, sent_id if is_id else self._new_request_id())
        if scope["path"] not in self._cacheable:
            # A cache in between does not vary answers by the custom key header.
            exchange.headers[b"cache-control"] = b"no-store"
        scope.setdefault("state", {})["exchange"] = exchange
        await self._app(scope, receive, exchange.sending(send))
        if exchange.status is not None:
            seconds = perf_counter() - began
            observe.request_answered(exchange.route, exchange.status, seconds)
            if (answered := exchange.request_record(seconds)) is not None:
                self._record(answered)


class ErrorEnvelopes:
    """Answers whatever goes wrong in the one form that every client can read."""

    def __init__(self, app: ASGIApp, *, errors: Errors) -> None:
        self._app = app
        self._errors = errors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = exchange_of(scope)
        try:
            await self._app(scope, receive, send)
        except Exception as error:
            if exchange.status is not None:  # the answer has begun: only its connection can end
                raise
            if isinstance(error, ApiRefusal):
                observe.request_refused(error.code)
            if isinstance(error, RateLimited):
                exchange.add_quota_state(error.quota_state)
            answer = self._errors.answer(error, exchange.request_id)
            exchange.error_code = self._errors.code_of(error)
            observe.answered_with_error(answer.status_code, error, **exchange.facts())
            await answer(scope, receive, send)


class CallerAdmission:
    """Lets a caller to the endpoint that its key opens, within the rate limit."""

    def __init__(self, app: ASGIApp, *, endpoint: Endpoint, admission: Admission) -> None:
        self._app = app
        self._endpoint = endpoint
        self._admission = admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = exchange_of(scope)
        exchange.route = self._endpoint.path
        exchange.context = await self._admission.admit(exchange, self._endpoint)
        facts = exchange.facts()
        if "swap_id" in facts and tracing.is_on():
            tracing.join_swap(UUID(str(facts["swap_id"])))
        with bind_fields(**facts):
            await self._app(scope, receive, send)


class KnownNames:
    """Refuses misspelled parameters, and lists in `X-Ignored` what the endpoint does not take."""

    def __init__(self, app: ASGIApp, *, endpoint: Endpoint, unknown_names: UnknownNames) -> None:
        self._app = app
        self._endpoint = endpoint
        self._unknown_names = unknown_names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = exchange_of(scope)
        ignored = await self._unknown_names.ignored_header(self._endpoint, exchange.request)
        if ignored:
            exchange.headers[IGNORED.encode()] = ignored.encode()
        await self._app(scope, receive, send)
