"""The application of the public port: Starlette's router with the declared endpoints and pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from swap_api.admission.usecases.answer_once import AnswerOnce
from swap_api.http.admission import Admission
from swap_api.http.cors import Cors, CorsRules
from swap_api.http.endpoints import Endpoint, not_allowed
from swap_api.http.errors import Errors
from swap_api.http.exchange import exchange_of
from swap_api.http.idempotent_requests import IdempotencyKeys
from swap_api.http.middleware import CallerAdmission, ErrorEnvelopes, KnownNames, RequestIds
from swap_api.http.unknown_names import UnknownNames
from swap_api.model.refusals import NotFound
from swap_api.request_log.decide.records import AnsweredRequest
from swap_runtime.http.routing import ExactRoute, methods_at

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
    answer_once: AnswerOnce

    def app_of(self, endpoint: Endpoint) -> ASGIApp:
        app: ASGIApp = EndpointApp(endpoint)
        if endpoint.is_idempotent:
            app = IdempotencyKeys(app, endpoint=endpoint, answer_once=self.answer_once)
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
    record: Callable[[AnsweredRequest], None],
) -> Router:
    """
    :param pages: public pages without a key, by path.
    """
    # Routes are tried in this order.
    in_order = sorted(endpoints, key=lambda endpoint: not endpoint.is_matched_first)
    routes = [
        *(
            ExactRoute(
                endpoint.path,
                CallerAdmission(apps.app_of(endpoint), endpoint=endpoint, admission=admission),
                methods=[endpoint.method],
            )
            for endpoint in in_order
        ),
        *(ExactRoute(path, _handler_of(page)) for path, page in pages.items()),
    ]

    def allowed_at(path: str) -> str:
        """Return the methods that a path answers; where nothing is, just OPTIONS."""
        return ", ".join(sorted({*methods_at(routes, path), "OPTIONS"}))

    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse what no route takes, and count it for its key."""
        exchange = exchange_of(scope)
        path = exchange.request.path
        if path not in pages:
            await admission.count_unknown_path(exchange)
        if methods_at(routes, path):
            raise not_allowed(allowed_at(path))
        raise NotFound("There is nothing at this address")

    return Router(
        routes,
        redirect_slashes=False,
        default=refuse,
        middleware=[
            Middleware(
                RequestIds,
                new_request_id=new_request_id,
                cacheable=frozenset(pages),
                record=record,
            ),
            Middleware(Cors, rules=cors, allowed_at=allowed_at),
            Middleware(ErrorEnvelopes, errors=errors),
        ],
    )


def _handler_of(page: Page) -> Callable[[Request], Awaitable[Response]]:
    async def handle(_: Request) -> Response:
        return page()

    return handle
