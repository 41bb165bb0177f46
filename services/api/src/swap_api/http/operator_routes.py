"""The management API on the internal port, where an operator's token opens all of it.

The same addresses below `/admin`, with the same bodies and answers. An operator's actions are
logged like a member's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from starlette import requests
from starlette.responses import Response
from starlette.types import Message

from swap_api.http.app import EndpointApps
from swap_api.http.endpoints import Context, Endpoint
from swap_api.http.errors import Errors
from swap_api.http.exchange import Exchange
from swap_api.http.idempotent_requests import with_idempotency_key
from swap_api.http.middleware import ErrorEnvelopes
from swap_api.http.requests import Request
from swap_api.http.responses import CollectedResponse
from swap_api.model.keys import Caller, Scope
from swap_api.model.members import operator_actor
from swap_runtime.operators.admin_routes import Handler, operator_of

OPENED: Final = (Scope.MEMBER, Scope.OPERATOR)


class OperatorRoutes:
    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        *,
        apps: EndpointApps,
        errors: Errors,
        anonymous_caller: Caller,
        new_request_id: Callable[[], str],
    ) -> None:
        self._endpoints = [with_idempotency_key(endpoint) for endpoint in endpoints]
        self._apps = apps
        self._errors = errors
        self._anonymous_caller = anonymous_caller
        self._new_request_id = new_request_id

    def routes(self) -> Iterator[tuple[str, str, Handler]]:
        """Yield method, path below /admin, and handler of each."""
        for endpoint in self._endpoints:
            if endpoint.scope in OPENED:
                yield endpoint.method, endpoint.path, self._handler(endpoint)

    def _handler(self, endpoint: Endpoint) -> Handler:
        app = ErrorEnvelopes(self._apps.app_of(endpoint), errors=self._errors)

        async def handle(outer: requests.Request) -> Response:
            body = await outer.body()  # the log of orders has read it already

            async def receive() -> Message:
                return {"type": "http.request", "body": body, "more_body": False}

            request_id = self._new_request_id()
            exchange = Exchange(Request(outer.scope, receive), request_id)
            exchange.route = endpoint.path
            actor = operator_actor(operator_of(outer).name).asking(request_id)
            exchange.context = Context(self._anonymous_caller, "", request_id, actor)
            outer.state.exchange = exchange
            collected = CollectedResponse()
            await app(outer.scope, receive, exchange.sending(collected))
            return collected.response()

        return handle
