"""Routes of ports with many requests: Starlette's router without its two exception middlewares.

`Starlette` adds two middlewares to every request; the middlewares of these ports handle exceptions
anyway. A bare `Router` answers a wrong method in plain text. With `ExactRoute` it calls its default
instead, which answers in the form of the port.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from starlette.routing import Match, Route
from starlette.types import Scope

# Requested every few seconds by the deployment itself.
SILENT: Final = frozenset({"/livez", "/readyz", "/metrics"})


class ExactRoute(Route):
    """A route that takes only its own methods; others at its address are the router's default."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, child_scope = super().matches(scope)
        return (match, child_scope) if match is Match.FULL else (Match.NONE, {})


def methods_at(routes: Iterable[Route], path: str) -> set[str]:
    """Return the methods that are answered at a path; empty where nothing is."""
    return {
        method for route in routes if route.path_regex.match(path) for method in route.methods or ()
    }


def route_of(scope: Scope) -> str:
    """Return the path as declared, once the router has run; nothing where it found no route."""
    path: str = getattr(scope.get("route"), "path", "")
    return path
