"""What operators may do with endpoints and messages, below `/admin` of the internal port."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Final, Protocol
from uuid import UUID

import orjson
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, PlainValidator, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from swap_notifier.domain.endpoints import DisabledByOperator, TooMany
from swap_notifier.domain.listing import Place, Window
from swap_notifier.domain.outcomes import DisabledReason
from swap_notifier.domain.urls import UrlRefused
from swap_notifier.usecases.add_endpoint import AddEndpoint
from swap_notifier.usecases.choose_events import ChooseEvents
from swap_notifier.usecases.list_sent import ListSent
from swap_notifier.usecases.replay_messages import ReplayMessages
from swap_notifier.usecases.rotate_secret import RotateSecret
from swap_notifier.usecases.send_test import SendTest
from swap_notifier.usecases.switch_endpoints import By, SwitchEndpoints
from swap_runtime.process.service import Service

ALWAYS: Final = datetime(2000, 1, 1, tzinfo=UTC)
SHOWN_MAX: Final = 100
OFFSET_MAX: Final = 10**9
PLACE_MAX: Final = 400


def _read_place(text: str) -> Place:
    if len(text) > PLACE_MAX:
        raise ValueError("is too long")
    return Place.from_text(text)


PlaceText = Annotated[Place, PlainValidator(_read_place)]


class NewEndpoint(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    app_id: UUID
    url: str
    wants_updates: bool = False
    wants_notices: bool = False
    most: int | None = Field(default=None, ge=1)  # how many the app may have


class Events(BaseModel):
    """Which events an endpoint gets beside every new status."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    wants_updates: bool
    wants_notices: bool


class Switch(BaseModel):
    """Who ordered it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    by: By = DisabledReason.OPERATOR


class Since(BaseModel):
    """What a replay is about."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    since: AwareDatetime
    undelivered_only: bool = False


class OfApp(BaseModel):
    """Of what figures are wanted."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    app_id: UUID
    since: AwareDatetime


class Part(Since):
    """Which messages of an endpoint are wanted."""

    since: AwareDatetime = ALWAYS
    until: AwareDatetime | None = None
    delivered_only: bool = False
    limit: int = Field(default=SHOWN_MAX, ge=1, le=SHOWN_MAX)
    offset: int = Field(default=0, ge=0, le=OFFSET_MAX)
    oldest_first: bool = False
    after: PlaceText | None = None  # `next` of the part before

    @property
    def window(self) -> Window:
        return Window(self.limit, self.offset, self.after)


class Switching(Protocol):
    """Does something with an endpoint, if there is one."""

    async def __call__(self, endpoint_id: UUID, *, by: By) -> bool: ...


class EndpointRoutes:
    def __init__(
        self,
        *,
        add_endpoint: AddEndpoint,
        choose_events: ChooseEvents,
        rotate_secret: RotateSecret,
        switch_endpoints: SwitchEndpoints,
        replay_messages: ReplayMessages,
        send_test: SendTest,
        list_sent: ListSent,
    ) -> None:
        self._add_endpoint = add_endpoint
        self._choose_events = choose_events
        self._rotate_secret = rotate_secret
        self._switch_endpoints = switch_endpoints
        self._replay_messages = replay_messages
        self._send_test = send_test
        self._list_sent = list_sent

    def add_to(self, service: Service) -> None:
        """Add the routes; the api calls them for members, with a separate token."""
        admin = partial(service.admin, is_for_services=True)
        admin("POST", "/endpoints", self._add)
        admin("GET", "/endpoints", self._list)
        admin("GET", "/endpoints/{id}", self._read)
        admin("POST", "/endpoints/{id}/events", self._choose)
        admin("POST", "/endpoints/{id}/rotate", self._rotate)
        admin("POST", "/endpoints/{id}/disable", self._disable)
        admin("POST", "/endpoints/{id}/enable", self._enable)
        admin("POST", "/endpoints/{id}/remove", self._remove)
        admin("POST", "/endpoints/{id}/test", self._test)
        admin("POST", "/endpoints/{id}/replay", self._replay_since)
        admin("GET", "/endpoints/{id}/messages", self._messages_of_endpoint)
        admin("GET", "/figures", self._figures)
        admin("GET", "/messages", self._messages)
        admin("GET", "/messages/{id}", self._message)
        admin("POST", "/messages/{id}/replay", self._replay)

    async def _add(self, request: Request) -> Response:
        try:
            request_body = NewEndpoint.model_validate_json(await request.body())
            endpoint, secret = await self._add_endpoint(
                app_id=request_body.app_id,
                url=request_body.url,
                wants_updates=request_body.wants_updates,
                wants_notices=request_body.wants_notices,
                most=request_body.most,
            )
        except ValidationError as error:
            return _invalid(error)
        except UrlRefused as error:
            return _error(400, str(error))
        except TooMany:
            return _error(409, "the app has as many endpoints as it may", reason="full")
        except DisabledByOperator:
            return _disabled_by_operator()
        return _json({**asdict(endpoint), "secret": secret}, status=201)

    async def _list(self, request: Request) -> Response:
        text = request.query_params.get("app_id")
        app_id = None if text is None else _uuid(text)
        if text is not None and app_id is None:
            return _error(400, "app_id is not an id")
        endpoints = await self._list_sent.endpoints(app_id)
        return _json({"endpoints": [asdict(endpoint) for endpoint in endpoints]})

    async def _read(self, request: Request) -> Response:
        endpoint_id = _uuid(request.path_params["id"])
        endpoint = None if endpoint_id is None else await self._list_sent.endpoint(endpoint_id)
        return _error(404, "no such endpoint") if endpoint is None else _json(asdict(endpoint))

    async def _choose(self, request: Request) -> Response:
        try:
            chosen = Events.model_validate_json(await request.body())
        except ValidationError as error:
            return _invalid(error)
        endpoint_id = _uuid(request.path_params["id"])
        endpoint = (
            None
            if endpoint_id is None
            else await self._choose_events(endpoint_id, **chosen.model_dump())
        )
        return _error(404, "no such endpoint") if endpoint is None else _json(asdict(endpoint))

    async def _rotate(self, request: Request) -> Response:
        endpoint_id = _uuid(request.path_params["id"])
        secret = None if endpoint_id is None else await self._rotate_secret(endpoint_id)
        if secret is None:
            return _error(404, "no such endpoint")
        return _json({"id": endpoint_id, "secret": secret})

    async def _disable(self, request: Request) -> Response:
        return await self._switch(request, self._switch_endpoints.disable, {"is_enabled": False})

    async def _enable(self, request: Request) -> Response:
        return await self._switch(request, self._switch_endpoints.enable, {"is_enabled": True})

    async def _remove(self, request: Request) -> Response:
        return await self._switch(request, self._switch_endpoints.remove, {"is_removed": True})

    async def _switch(
        self, request: Request, switch: Switching, members: Mapping[str, bool]
    ) -> Response:
        endpoint_id = _uuid(request.path_params["id"])
        try:
            by = await _by(request)
            is_done = endpoint_id is not None and await switch(endpoint_id, by=by)
        except ValidationError as error:
            return _invalid(error)
        except DisabledByOperator:
            return _disabled_by_operator()
        return _json({"id": endpoint_id, **members}) if is_done else _error(404, "no such endpoint")

    async def _test(self, request: Request) -> Response:
        endpoint_id = _uuid(request.path_params["id"])
        message_id = None if endpoint_id is None else await self._send_test(endpoint_id)
        if message_id is None:
            return _error(404, "no such endpoint, or it is disabled")
        return _json({"message_id": message_id}, status=202)

    async def _replay_since(self, request: Request) -> Response:
        try:
            query = Since.model_validate_json(await request.body())
        except ValidationError as error:
            return _invalid(error)
        endpoint_id = _uuid(request.path_params["id"])
        number = (
            None
            if endpoint_id is None
            else await self._replay_messages.since(
                endpoint_id, query.since, undelivered_only=query.undelivered_only
            )
        )
        if number is None:
            return _error(404, "no such endpoint, or it is disabled or a listener")
        return _json({"id": endpoint_id, "replayed": number}, status=202)

    async def _messages_of_endpoint(self, request: Request) -> Response:
        try:
            query = Part.model_validate(dict(request.query_params))
        except ValidationError as error:
            return _invalid(error)
        endpoint_id = _uuid(request.path_params["id"])
        listed = (
            None
            if endpoint_id is None
            else await self._list_sent.of_endpoint(
                endpoint_id,
                query.window,
                since=query.since,
                until=query.until,
                undelivered_only=query.undelivered_only,
                delivered_only=query.delivered_only,
                oldest_first=query.oldest_first,
            )
        )
        return _error(404, "no such endpoint") if listed is None else _json(asdict(listed))

    async def _figures(self, request: Request) -> Response:
        try:
            query = OfApp.model_validate(dict(request.query_params))
        except ValidationError as error:
            return _invalid(error)
        figures = await self._list_sent.figures(query.app_id, since=query.since)
        return _json({"endpoints": figures})

    async def _message(self, request: Request) -> Response:
        message = await self._list_sent.message(request.path_params["id"])
        return _error(404, "no such message") if message is None else _json(message)

    async def _messages(self, request: Request) -> Response:
        swap_id = _uuid(request.query_params.get("swap_id", ""))
        if swap_id is None:
            return _error(400, "swap_id is not an id")
        text = request.query_params.get("app_id")
        app_id = None if text is None else _uuid(text)
        if text is not None and app_id is None:
            return _error(400, "app_id is not an id")
        return _json({"messages": await self._list_sent.of_swap(swap_id, app_id=app_id)})

    async def _replay(self, request: Request) -> Response:
        message_id = request.path_params["id"]
        if not await self._replay_messages.one(message_id):
            return _error(404, "no such message, or its endpoint is disabled")
        return _json({"id": message_id, "is_due": True}, status=202)


async def _by(request: Request) -> By:
    """Return who switches; an operator by default.

    :raises ValidationError: for any other value.
    """
    return Switch.model_validate_json(await request.body() or b"{}").by


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _json(content: Mapping[str, Any], *, status: int = 200) -> Response:
    return Response(orjson.dumps(content), status, media_type="application/json")


def _invalid(error: ValidationError) -> Response:
    fault = error.errors(include_url=False, include_input=False)[0]
    return _error(400, f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}")


def _disabled_by_operator() -> Response:
    return _error(
        409, "an operator disabled it, and only an operator enables it", reason="disabled"
    )


def _error(status: int, words: str, *, reason: str | None = None) -> Response:
    return _json({"error": words, **({} if reason is None else {"reason": reason})}, status=status)
