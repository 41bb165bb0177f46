"""Serves Starlette routes on a free port, for tests of their answers or of a client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from swap_runtime.http.asgi import AsgiServer
from swap_runtime.operators.admin_routes import Handler


def get(path: str, handler: Handler) -> Route:
    """Return a route for GET."""
    return Route(path, handler)


def post(path: str, handler: Handler) -> Route:
    """Return a route for POST."""
    return Route(path, handler, methods=["POST"])


@asynccontextmanager
async def serve(app: ASGIApp, port: int = 0) -> AsyncIterator[str]:
    """Serve an application, and yield its URL without a trailing slash.

    :param port: by default a free one.
    """
    server = AsgiServer(app, "127.0.0.1", port, stop_seconds=0.1)
    port = await server.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        await server.stop()


@asynccontextmanager
async def client_of(*routes: BaseRoute) -> AsyncIterator[aiohttp.ClientSession]:
    """Serve routes, and yield a client with their base URL."""
    async with serve(Starlette(routes=routes)) as url, aiohttp.ClientSession(url) as client:
        yield client
