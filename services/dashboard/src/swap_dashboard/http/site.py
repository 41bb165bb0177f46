"""The addresses of the dashboard, and what an error looks like."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from hashlib import sha256
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Match, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Scope

from swap_dashboard import observe
from swap_dashboard.http.event_streams import TooManyStreams
from swap_dashboard.http.forms import FormRefused
from swap_dashboard.http.headers import SecurityHeaders, paths_of
from swap_dashboard.http.layout import Layout
from swap_dashboard.http.visitors import OrganizationNeeded, SignInNeeded
from swap_dashboard.ports import ApiRefused, ApiUnavailable
from swap_runtime.errors import Unavailable

STATIC: Final = files("swap_dashboard") / "static"
CACHED: Final = "public, max-age=31536000, immutable"
Handler = Callable[[Request], Awaitable[Response]]


def static_version() -> str:
    """Return a name for the content of the static files."""
    digest = sha256()
    for path in sorted(Path(str(STATIC)).rglob("*")):
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


class Section(Protocol):
    """Some of the pages."""

    def routes(self) -> Sequence[BaseRoute]: ...


class VersionedFiles(StaticFiles):
    """Files with an address that changes with their content, so that browsers may cache them."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        if response.status_code in (HTTPStatus.OK, HTTPStatus.NOT_MODIFIED):
            response.headers["cache-control"] = CACHED
        return response


class Site(Starlette):
    """Pages, each with the headers of security.

    They are around Starlette's own stack, because it answers an unhandled error outside of its
    middleware.
    """

    def __init__(self, *, is_https: bool, **options: Any) -> None:
        super().__init__(**options)
        self._is_https = is_https

    def build_middleware_stack(self) -> ASGIApp:
        return SecurityHeaders(super().build_middleware_stack(), is_https=self._is_https)


class ErrorPages:
    """What a reader is shown when there is no page."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    async def sign_in(self, request: Request, _: Exception) -> Response:
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        if request.method != "GET":
            path = "/"
        return RedirectResponse(f"/sign-in?next={quote(path)}", status_code=303)

    async def organization(self, request: Request, _: Exception) -> Response:
        return RedirectResponse("/account", status_code=303)

    async def answer_refusal(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, ApiRefused)
        return await self._page(request, error.status, error.message, metadata=error.metadata)

    async def form(self, request: Request, error: Exception) -> Response:
        return await self._page(request, 403, str(error))

    async def unavailable(self, request: Request, error: Exception) -> Response:
        return await self._page(
            request, 503, "The service does not answer right now. Try again in a moment."
        )

    async def http(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED and request.method == "GET":
            return RedirectResponse(_page_above(request), status_code=303)
        text = (
            "There is no such page." if error.status_code == HTTPStatus.NOT_FOUND else error.detail
        )
        return await self._page(request, error.status_code, text)

    async def answer_failure(self, request: Request, error: Exception) -> Response:
        observe.answer_failed(request.url.path, error)
        return await self._page(request, 500, "Something went wrong on our side. It is logged.")

    async def _page(
        self, request: Request, status: int, text: str, metadata: Mapping[str, Any] | None = None
    ) -> Response:
        values = {"status": status, "text": text, "request_id": (metadata or {}).get("request_id")}
        return self._layout.plain("error.html", values, title="Not possible", status=status)


def _page_above(request: Request) -> str:
    """Return the page that a form stands on: its address was opened, or loaded again."""
    path = request.url.path
    while path := path.rpartition("/")[0]:
        scope = {**request.scope, "path": path}
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.routes):
            return quote(path)
    return "/"


def build_site(sections: Sequence[Section], layout: Layout, *, is_https: bool) -> Starlette:
    errors = ErrorPages(layout)
    # Pages are not compressed: their length would leak the form token in them.
    static = Mount("/static", GZipMiddleware(VersionedFiles(directory=str(STATIC))))
    routes = [*(route for section in sections for route in section.routes()), static]
    observe.routes_listed(paths_of(routes))
    return Site(
        is_https=is_https,
        routes=routes,
        exception_handlers={
            SignInNeeded: errors.sign_in,
            OrganizationNeeded: errors.organization,
            ApiRefused: errors.answer_refusal,
            FormRefused: errors.form,
            ApiUnavailable: errors.unavailable,
            TooManyStreams: errors.unavailable,
            Unavailable: errors.unavailable,
            HTTPException: errors.http,
            Exception: errors.answer_failure,
        },
    )
