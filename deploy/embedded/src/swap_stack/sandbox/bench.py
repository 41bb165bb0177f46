"""What a dashboard asks the sandbox: which outcomes there are, and to play for an app.

It listens where the sandbox receives webhooks: on this machine, or in the network of a compose
project. It takes test keys alone, and only those that the service takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Final
from uuid import UUID

import orjson
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from swap_sdk import ApiError, AsyncClient, SwapError
from swap_stack.receiver import refuses_nothing
from swap_stack.sandbox.outcomes import OUTCOME_DESCRIPTIONS
from swap_stack.sandbox.settings import NotASandbox, Settings, require_test_keys

BODY_BYTES_MAX: Final = 4096
DELIVERY_BYTES_MAX: Final = 256 * 1024
# Long enough for a signature, which the service takes with half a minute left and not later.
LIFETIME_SECONDS: Final = 45


class Bench:
    def __init__(
        self,
        settings: Settings,
        *,
        refuses: Callable[[str, Mapping[str, Any]], bool] = refuses_nothing,
    ) -> None:
        """
        :param refuses: whether a delivery, by its id and content, is answered with 500.
        """
        self._settings = settings
        self._refuses = refuses

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/bench/outcomes", self.outcomes),
            Route("/bench/apps/{app_id}", self.read_app),
            Route("/bench/apps/{app_id}", self.add_app, methods=["POST"]),
            Route("/accepts", self.accept, methods=["POST"]),
        ]

    async def outcomes(self, request: Request) -> Response:
        outcomes = [
            {"name": outcome.value, "recipient": meaning.address, **asdict(meaning)}
            for outcome, meaning in OUTCOME_DESCRIPTIONS.items()
        ]
        return JSONResponse(
            {
                "outcomes": outcomes,
                "lifetime_seconds": LIFETIME_SECONDS,
                "receiver_url": f"http://127.0.0.1:{request.url.port}/accepts",
            }
        )

    async def read_app(self, request: Request) -> Response:
        app_id = request.path_params["app_id"]
        own = app_id == str(self._settings.partner.get("app_id"))
        return JSONResponse({"is_played": own or app_id in self._settings.joined.keys_by_app()})

    async def add_app(self, request: Request) -> Response:
        """Play for an app from now on, with a key of it."""
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > BODY_BYTES_MAX:
                return _refusal("the body is too large")
        try:
            app_id = str(UUID(request.path_params["app_id"]))
            key = str(orjson.loads(body)["api_key"])
            require_test_keys([key])
            async with AsyncClient(self._settings.gateway, key) as partner:
                await partner.swaps(page_size=1)
        except (ValueError, KeyError, TypeError):
            return _refusal("an app's id and its api_key are needed")
        except NotASandbox as error:
            return _refusal(str(error))
        except ApiError:
            return _refusal("the service does not take this key")
        except SwapError:
            return _refusal("the service does not answer", status=503)
        self._settings.joined.add(app_id, key)
        return JSONResponse({"is_played": True})

    async def accept(self, request: Request) -> Response:
        """Accept any webhook, unverified: for who has no receiver yet."""
        size, body = 0, b""
        async for part in request.stream():
            size += len(part)
            body = body + part if size <= DELIVERY_BYTES_MAX else b""
        if self._refuses(request.headers.get("webhook-id", ""), _content(body)):
            return Response(status_code=500)
        content: dict[str, Any] = {
            "accepted": request.headers.get("webhook-event-type"),
            "bytes": size,
            "verified": False,
        }
        return JSONResponse(content)


def _content(body: bytes) -> Mapping[str, Any]:
    """Return what was delivered; empty where it is no object."""
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return content if isinstance(content, dict) else {}


def _refusal(reason: str, *, status: int = 422) -> Response:
    return JSONResponse({"error": reason}, status_code=status)
