"""The Starlette application of the public port, made of the declared endpoints and the pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from uuid import UUID

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from swap_api.domain.refusals import NotFound
from swap_api.http.admission import Admission
from swap_api.http.cors import Cors, CorsRules
from swap_api.http.endpoints import Endpoint, not_allowed
from swap_api.http.errors import Errors
from swap_api.http.exchange import exchange_of
from swap_api.http.idempotent_requests import IdempotencyKeys
from swap_api.http.middleware import Admitted, ErrorEnvelopes, KnownNames, RequestIds
from swap_api.http.unknown_names import UnknownNames
from swap_api.ports import Idempotency

Page = Callable[[], Response]


class EndpointApp:
    """Calls the handler of one endpoint with the exchange's request and context."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._handler = endpoint.handler

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = exchange_of(scope)
        assert exchange.context is not None
        response = await self._handler(exchange.request, exchange.context)
        await response(scope, receive, send)


@dataclass(frozen=True, slots=True)
class EndpointApps:
    """Makes the application of an endpoint: the same on the public and the internal port."""

    unknown_names: UnknownNames
    idempotency: Idempotency
    new_id: Callable[[], UUID]

    def app_of(self, endpoint: Endpoint) -> ASGIApp:
        app: ASGIApp = EndpointApp(endpoint)
        if endpoint.is_idempotent:
            app = IdempotencyKeys(
                app, endpoint=endpoint, idempotency=self.idempotency, new_id=self.new_id
            )
        return KnownNames(app, endpoint=endpoint, unknown_names=self.unknown_names)


def public_app(
    endpoints: Sequence[Endpoint],
    pages: Mapping[str, Page],
    *,
    apps: EndpointApps,
    admission: Admission,
    cors: CorsRules,
    errors: Errors,
    new_request_id: Callable[[], str],
) -> Starlette:
    """
    :param pages: what everybody may read without a key, by path.
    """
    routes = [
        *(
            Route(
                endpoint.path,
                Admitted(apps.app_of(endpoint), endpoint=endpoint, admission=admission),
                methods=[endpoint.method],
            )
            for endpoint in endpoints
        ),
        *(Route(path, _handler_of(page)) for path, page in pages.items()),
    ]

    def allowed_at(path: str) -> str:
        """Return the methods that a path answers; where nothing is, just OPTIONS."""
        methods = {
            method
            for route in routes
            if route.path_regex.match(path)
            for method in route.methods or ()
        }
        return ", ".join(sorted({*methods, "OPTIONS"}))

    async def refuse(request: Request, error: Exception) -> Response:
        """Refuse what no route takes, and count it for its key."""
        assert isinstance(error, HTTPException)
        exchange = exchange_of(request.scope)
        if exchange.request.path not in pages:
            await admission.count_stray(exchange)
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            raise not_allowed(allowed_at(exchange.request.path))
        raise NotFound("There is nothing at this address")

    app = Starlette(
        routes=routes,
        middleware=[
            Middleware(RequestIds, new_request_id=new_request_id, cacheable=frozenset(pages)),
            Middleware(Cors, rules=cors, allowed_at=allowed_at),
            Middleware(ErrorEnvelopes, errors=errors),
        ],
        exception_handlers={HTTPException: refuse},
    )
    app.router.redirect_slashes = False
    return app


def _handler_of(page: Page) -> Callable[[Request], Awaitable[Response]]:
    async def handle(_: Request) -> Response:
        return page()

    return handle
