"""The public port: plain ASGI, so that an answer that is ready costs next to nothing to give.

For every request, in this order: its id, the preflight, the address, the key, the rate limit, the
names of its parameters, the endpoint. Whatever goes wrong on the way is said in the envelope, with
the headers of CORS.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter
from typing import Final
from uuid import UUID

from swap_api import observe
from swap_api.domain.keys import Caller
from swap_api.domain.keys import Scope as KeyScope
from swap_api.domain.members import member_caller
from swap_api.domain.rate_limits import Kind
from swap_api.domain.refusals import ApiRefusal
from swap_api.http.clients import Clients
from swap_api.http.cors import Cors
from swap_api.http.endpoints import Context, Endpoint, Endpoints, not_allowed
from swap_api.http.errors import Errors
from swap_api.http.exchange import Answer, Receive, Request, Scope, Send
from swap_api.http.idempotent_requests import IdempotentRequests
from swap_api.http.unknown_names import IGNORED, UnknownNames
from swap_api.usecases.identify_caller import IdentifyCaller
from swap_api.usecases.identify_member import IdentifyMember
from swap_api.usecases.limit_requests import LimitRequests, RateLimited, Standing
from swap_runtime.errors import Unavailable
from swap_runtime.telemetry.logging import bound

REQUEST_ID: Final = "x-request-id"
NOWHERE: Final = "none"
WITHOUT_BODY: Final = (204, 304)
PAGE_METHODS: Final = "GET, HEAD, OPTIONS"  # of what everybody may read
FOR_MEMBERS: Final = (KeyScope.MEMBER, KeyScope.PERSON)

_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")


class _Exchange:
    """What is known of one request so far."""

    def __init__(self, request: Request, request_id: str) -> None:
        self.request = request
        self.request_id = request_id
        self.route = NOWHERE
        self.app_id: UUID | None = None
        self.standing: Standing | None = None
        self.ignored = ""

    def facts(self) -> dict[str, object]:
        """Return what a log line about the request says; ids only where they are ids."""
        facts: dict[str, object] = {"request_id": self.request_id, "route": self.route}
        if self.app_id is not None:
            facts["app_id"] = self.app_id
        swap_id = self.request.path_values.get("swapId", "")
        if _UUID.fullmatch(swap_id):
            facts["swap_id"] = swap_id.lower()
        return facts


class Gateway:
    def __init__(
        self,
        endpoints: Endpoints,
        *,
        identify_caller: IdentifyCaller,
        identify_member: IdentifyMember,
        limit_requests: LimitRequests,
        idempotent_requests: IdempotentRequests,
        unknown_names: UnknownNames,
        clients: Clients,
        cors: Cors,
        errors: Errors,
        key_headers: Sequence[str],
        anybody: Caller,
        new_request_id: Callable[[], str],
    ) -> None:
        self._endpoints = endpoints
        self._unknown_names = unknown_names
        self._identify_caller = identify_caller
        self._identify_member = identify_member
        self._limit_requests = limit_requests
        self._idempotent_requests = idempotent_requests
        self._clients = clients
        self._cors = cors
        self._errors = errors
        self._key_headers = tuple(name.lower() for name in key_headers)
        self._anybody = anybody
        self._new_request_id = new_request_id
        self._public: dict[str, Callable[[], Answer]] = {}

    def add_public(self, path: str, answer: Callable[[], Answer]) -> None:
        """Answer GET at this address to everybody, without a key."""
        self._public[path] = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._exchange(scope, receive, send)
        elif scope["type"] == "lifespan":
            await _live(receive, send)
        else:
            await send({"type": "websocket.close", "code": 1000})

    async def _exchange(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = perf_counter()
        request = Request(scope, receive)
        given = request.header(REQUEST_ID) or ""
        request_id = given if _REQUEST_ID.fullmatch(given) else self._new_request_id()
        exchange = _Exchange(request, request_id)
        try:
            answer = await self._answer(exchange)
        except Exception as error:
            answer = self._errors.answer(error, request_id)
            if isinstance(error, ApiRefusal):
                observe.request_refused(error.code)
            if isinstance(error, RateLimited):
                exchange.standing = error.standing
            observe.answered_with_error(answer.status, error, **exchange.facts())
        headers = {**self._headers(exchange), **answer.headers}
        if answer.stream is None or request.is_head:
            await _send(send, answer, headers, has_body=not request.is_head)
        else:
            await _stream(send, answer, headers, until=request.gone)
        observe.request_answered(exchange.route, answer.status, perf_counter() - began)

    async def _answer(self, exchange: _Exchange) -> Answer:
        request = exchange.request
        public = self._public.get(request.path)
        if request.method == "OPTIONS":
            allowed = PAGE_METHODS if public else self._endpoints.allowed(request.path)
            return self._cors.preflight(request, allowed=allowed)
        if public is not None:
            if request.method != "GET":
                raise not_allowed(PAGE_METHODS)
            return public()
        try:
            endpoint, request.path_values = self._endpoints.find(request.method, request.path)
        except ApiRefusal:
            await self._count_stray(exchange)
            raise
        exchange.route = endpoint.path
        context = await self._admit(exchange, endpoint)
        with bound(**exchange.facts()):
            exchange.ignored = await self._unknown_names.ignored(endpoint, request)
            return await self._idempotent_requests(endpoint, request, context)

    async def _admit(self, exchange: _Exchange, endpoint: Endpoint) -> Context:
        """
        :raises ApiRefusal: without a key that opens the endpoint, and when it is asked too often.
        """
        request = exchange.request
        if endpoint.scope in FOR_MEMBERS:
            return await self._admit_member(exchange, endpoint)
        caller = await self._caller(request, endpoint)
        exchange.app_id = caller.app_id if endpoint.scope is not KeyScope.NOBODY else None
        client = self._clients.bucket(request) if caller.is_publishable else ""
        exchange.standing = await self._limit_requests(
            caller, client, endpoint.kind, weight=endpoint.weight
        )
        caller.require(endpoint.scope)
        return Context(caller, client, exchange.request_id)

    async def _count_stray(self, exchange: _Exchange) -> None:
        """Count a keyed request that leads nowhere as a read; who has no key is not counted.

        :raises RateLimited: when it is one too many.
        """
        request = exchange.request
        key = self._key_of(request)
        if key is None:
            return
        try:
            caller = await self._identify_caller(key, from_memory=False)
        except (ApiRefusal, Unavailable):
            return  # that nothing is there is true whoever asks
        client = self._clients.bucket(request) if caller.is_publishable else ""
        exchange.standing = await self._limit_requests(caller, client, Kind.READ)

    async def _admit_member(self, exchange: _Exchange, endpoint: Endpoint) -> Context:
        """
        :raises ApiRefusal: without a member's access token, and when it is asked too often.
        """
        request = exchange.request
        token = _bearer(request)
        if token and endpoint.body is not None:
            await request.json_body()  # first: who is removed while it comes is nobody after it
        actor = await self._identify_member(token)
        caller, client = member_caller(actor, self._anybody.environment)
        exchange.standing = await self._limit_requests(
            caller, client, endpoint.kind, weight=endpoint.weight
        )
        return Context(caller, client, exchange.request_id, actor.asking(exchange.request_id))

    async def _caller(self, request: Request, endpoint: Endpoint) -> Caller:
        if endpoint.scope is KeyScope.NOBODY:
            return self._anybody
        return await self._identify_caller(
            self._key_of(request), from_memory=endpoint.needs_process_alone
        )

    def _key_of(self, request: Request) -> str | None:
        return next(filter(None, map(request.header, self._key_headers)), None)

    def _headers(self, exchange: _Exchange) -> dict[str, str]:
        headers = {REQUEST_ID: exchange.request_id, **self._cors.headers(exchange.request)}
        if exchange.request.path not in self._public:
            # A cache in between does not know that answers differ by our own header.
            headers["cache-control"] = "no-store"
        if exchange.ignored:
            headers[IGNORED] = exchange.ignored
        standing = exchange.standing
        if standing is not None:
            headers["ratelimit-limit"] = str(standing.limit)
            headers["ratelimit-remaining"] = str(standing.remaining)
            headers["ratelimit-reset"] = str(standing.reset_seconds)
        return headers


def _bearer(request: Request) -> str | None:
    scheme, _, token = (request.header("authorization") or "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


async def _send(send: Send, answer: Answer, headers: dict[str, str], *, has_body: bool) -> None:
    if answer.status not in WITHOUT_BODY:
        headers["content-type"] = answer.content_type
        if answer.stream is None:
            headers["content-length"] = str(len(answer.body))
    await _start(send, answer, headers)
    await send({"type": "http.response.body", "body": answer.body if has_body else b""})


async def _stream(
    send: Send, answer: Answer, headers: dict[str, str], *, until: Callable[[], Awaitable[None]]
) -> None:
    """Send piece after piece, until there are no more or nobody takes them."""

    async def pieces() -> None:
        assert answer.stream is not None
        async for piece in answer.stream:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    await _start(send, answer, {**headers, "content-type": answer.content_type})
    works = [asyncio.create_task(pieces()), asyncio.ensure_future(until())]
    try:
        done, _ = await asyncio.wait(works, return_when=asyncio.FIRST_COMPLETED)
        for work in done:
            work.result()
    finally:
        for work in works:
            work.cancel()
        await asyncio.gather(*works, return_exceptions=True)


async def _start(send: Send, answer: Answer, headers: dict[str, str]) -> None:
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": raw})


async def _live(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
