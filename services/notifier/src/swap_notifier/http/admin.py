"""What operators may do with endpoints and messages, below `/admin` of the internal port."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from uuid import UUID

import orjson
from aiohttp import web
from pydantic import BaseModel, ConfigDict, ValidationError

from swap_notifier.domain.urls import UrlRefused
from swap_notifier.usecases.add_endpoint import AddEndpoint
from swap_notifier.usecases.list_sent import ListSent
from swap_notifier.usecases.replay_messages import ReplayMessages
from swap_notifier.usecases.rotate_secret import RotateSecret
from swap_notifier.usecases.switch_endpoints import SwitchEndpoints
from swap_runtime.service import Service


class NewEndpoint(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    app_id: UUID
    url: str
    wants_updates: bool = False


class EndpointRoutes:
    def __init__(
        self,
        *,
        add_endpoint: AddEndpoint,
        rotate_secret: RotateSecret,
        switch_endpoints: SwitchEndpoints,
        replay_messages: ReplayMessages,
        list_sent: ListSent,
    ) -> None:
        self._add_endpoint = add_endpoint
        self._rotate_secret = rotate_secret
        self._switch_endpoints = switch_endpoints
        self._replay_messages = replay_messages
        self._list_sent = list_sent

    def add_to(self, service: Service) -> None:
        service.admin("POST", "/endpoints", self._add)
        service.admin("GET", "/endpoints", self._list)
        service.admin("POST", "/endpoints/{id}/rotate", self._rotate)
        service.admin("POST", "/endpoints/{id}/disable", self._disable)
        service.admin("POST", "/endpoints/{id}/enable", self._enable)
        service.admin("GET", "/messages", self._messages)
        service.admin("POST", "/messages/{id}/replay", self._replay)

    async def _add(self, request: web.Request) -> web.Response:
        try:
            wanted = NewEndpoint.model_validate_json(await request.read())
            endpoint, secret = await self._add_endpoint(
                app_id=wanted.app_id, url=wanted.url, wants_updates=wanted.wants_updates
            )
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            return _error(400, f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}")
        except UrlRefused as error:
            return _error(400, str(error))
        return _json({**asdict(endpoint), "secret": secret}, status=201)

    async def _list(self, request: web.Request) -> web.Response:
        given = request.query.get("app_id")
        app_id = None if given is None else _uuid(given)
        if given is not None and app_id is None:
            return _error(400, "app_id is not an id")
        endpoints = await self._list_sent.endpoints(app_id)
        return _json({"endpoints": [asdict(endpoint) for endpoint in endpoints]})

    async def _rotate(self, request: web.Request) -> web.Response:
        endpoint_id = _uuid(request.match_info["id"])
        secret = None if endpoint_id is None else await self._rotate_secret(endpoint_id)
        if secret is None:
            return _error(404, "no such endpoint")
        return _json({"id": endpoint_id, "secret": secret})

    async def _disable(self, request: web.Request) -> web.Response:
        endpoint_id = _uuid(request.match_info["id"])
        if endpoint_id is None or not await self._switch_endpoints.disable(endpoint_id):
            return _error(404, "no such endpoint")
        return _json({"id": endpoint_id, "is_enabled": False})

    async def _enable(self, request: web.Request) -> web.Response:
        endpoint_id = _uuid(request.match_info["id"])
        if endpoint_id is None or not await self._switch_endpoints.enable(endpoint_id):
            return _error(404, "no such endpoint")
        return _json({"id": endpoint_id, "is_enabled": True})

    async def _messages(self, request: web.Request) -> web.Response:
        swap_id = _uuid(request.query.get("swap_id", ""))
        if swap_id is None:
            return _error(400, "swap_id is not an id")
        return _json({"messages": await self._list_sent.messages(swap_id)})

    async def _replay(self, request: web.Request) -> web.Response:
        message_id = request.match_info["id"]
        if not await self._replay_messages(message_id):
            return _error(404, "no such message, or its endpoint is disabled")
        return _json({"id": message_id, "is_due": True}, status=202)


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _json(content: Mapping[str, Any], *, status: int = 200) -> web.Response:
    body = orjson.dumps(content)
    return web.Response(body=body, status=status, content_type="application/json")


def _error(status: int, words: str) -> web.Response:
    return _json({"error": words}, status=status)
