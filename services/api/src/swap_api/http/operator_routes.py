"""The management API on the internal port, where an operator's token opens all of it.

The same addresses below `/admin`, the same bodies and answers: what an operator does is written
down like what anybody else does.
"""

from __future__ import annotations

from collections.abc import (
    Callable,
    Iterator,
    MutableMapping,
    Sequence,
)
from typing import Any, Final

from starlette.requests import Request as AdminRequest
from starlette.responses import Response

from swap_api import observe
from swap_api.domain.keys import Caller, Scope
from swap_api.domain.members import operator_actor
from swap_api.http.endpoints import Context, Endpoint
from swap_api.http.errors import Errors
from swap_api.http.exchange import Request
from swap_api.http.idempotent_requests import IdempotentRequests, make_idempotent
from swap_api.http.unknown_names import IGNORED, UnknownNames
from swap_runtime.operators.admin_routes import Handler, operator_of

OPENED: Final = (Scope.MEMBER, Scope.OPERATOR)


class OperatorRoutes:
    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        *,
        idempotent_requests: IdempotentRequests,
        unknown_names: UnknownNames,
        errors: Errors,
        anybody: Caller,
        new_request_id: Callable[[], str],
    ) -> None:
        self._endpoints = [make_idempotent(endpoint) for endpoint in endpoints]
        self._idempotent_requests = idempotent_requests
        self._unknown_names = unknown_names
        self._errors = errors
        self._anybody = anybody
        self._new_request_id = new_request_id

    def routes(self) -> Iterator[tuple[str, str, Handler]]:
        """Yield method, path below /admin, and handler of each."""
        for endpoint in self._endpoints:
            if endpoint.scope in OPENED:
                yield endpoint.method, endpoint.path, self._handler(endpoint)

    def _handler(self, endpoint: Endpoint) -> Handler:
        async def handle(asked: AdminRequest) -> Response:
            request_id = self._new_request_id()
            actor = operator_actor(operator_of(asked).name)
            context = Context(self._anybody, "", request_id, actor.asking(request_id))
            request, ignored = await _request(asked), ""
            try:
                ignored = await self._unknown_names.ignored(endpoint, request)
                answer = await self._idempotent_requests(endpoint, request, context)
            except Exception as error:
                answer = self._errors.answer(error, request_id)
                observe.answered_with_error(
                    answer.status, error, request_id=request_id, route=endpoint.path
                )
            headers = {**answer.headers, "x-request-id": request_id}
            if ignored:
                headers[IGNORED] = ignored
            return Response(answer.body, answer.status, headers, answer.content_type)

        return handle


async def _request(asked: AdminRequest) -> Request:
    """Return the request with the body that was read for the log of orders already."""
    body = await asked.body()

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    request = Request({**asked.scope, "client": None}, receive)
    request.path_values = asked.path_params
    return request
