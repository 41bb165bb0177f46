"""What operators may do with endpoints and messages, below `/admin` of the internal port."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Protocol, TypeVar
from uuid import UUID

import orjson
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, PlainValidator, ValidationError
from starlette.exceptions import HTTPException
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
from swap_runtime.operators.admin_routes import Handler
from swap_runtime.process.service import Service

ALWAYS: Final = datetime(2000, 1, 1, tzinfo=UTC)
SHOWN_MAX: Final = 100
OFFSET_MAX: Final = 10**9
PLACE_MAX: Final = 400
NO_ENDPOINT: Final = "no such endpoint"
NOT_ENABLED: Final = "no such endpoint, or it is disabled"
Form = TypeVar("Form", bound=BaseModel)
Value = TypeVar("Value")


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


class NotThere(Exception):
    """There is nothing of the id in the address that the order or question is about."""


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

        def admin(method: str, path: str, route: Handler, missing: str = NO_ENDPOINT) -> None:
            service.admin(method, path, _answering(route, missing), is_for_services=True)

        admin("POST", "/endpoints", self._add)
        admin("GET", "/endpoints", self._list)
        admin("GET", "/endpoints/{id}", self._read)
        admin("POST", "/endpoints/{id}/events", self._choose)
        admin("POST", "/endpoints/{id}/rotate", self._rotate)
        admin("POST", "/endpoints/{id}/disable", self._disable)
        admin("POST", "/endpoints/{id}/enable", self._enable)
        admin("POST", "/endpoints/{id}/remove", self._remove)
        admin("POST", "/endpoints/{id}/test", self._test, NOT_ENABLED)
        admin("POST", "/endpoints/{id}/replay", self._replay_since, f"{NOT_ENABLED} or a listener")
        admin("GET", "/endpoints/{id}/messages", self._messages_of_endpoint)
        admin("GET", "/figures", self._figures)
        admin("GET", "/messages", self._messages_of_swap)
        admin("GET", "/messages/{id}", self._message, "no such message")
        missing = "no such message, or its endpoint is disabled"
        admin("POST", "/messages/{id}/replay", self._replay, missing)

    async def _add(self, request: Request) -> Response:
        form = _read_form(NewEndpoint, await request.body())
        endpoint, secret = await self._add_endpoint(**form.model_dump())
        return _json({**asdict(endpoint), "secret": secret}, status=201)

    async def _list(self, request: Request) -> Response:
        endpoints = await self._list_sent.endpoints(_query_id(request, "app_id"))
        return _json({"endpoints": [asdict(endpoint) for endpoint in endpoints]})

    async def _read(self, request: Request) -> Response:
        return _json(asdict(_require(await self._list_sent.endpoint(_endpoint_id(request)))))

    async def _choose(self, request: Request) -> Response:
        chosen = _read_form(Events, await request.body())
        changed = await self._choose_events(_endpoint_id(request), **chosen.model_dump())
        return _json(asdict(_require(changed)))

    async def _rotate(self, request: Request) -> Response:
        endpoint_id = _endpoint_id(request)
        secret = _require(await self._rotate_secret(endpoint_id))
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
        by = _read_form(Switch, await request.body() or b"{}").by
        endpoint_id = _endpoint_id(request)
        if not await switch(endpoint_id, by=by):
            raise NotThere
        return _json({"id": endpoint_id, **members})

    async def _test(self, request: Request) -> Response:
        message_id = _require(await self._send_test(_endpoint_id(request)))
        return _json({"message_id": message_id}, status=202)

    async def _replay_since(self, request: Request) -> Response:
        query = _read_form(Since, await request.body())
        endpoint_id = _endpoint_id(request)
        number = await self._replay_messages.since(
            endpoint_id, query.since, undelivered_only=query.undelivered_only
        )
        return _json({"id": endpoint_id, "replayed": _require(number)}, status=202)

    async def _messages_of_endpoint(self, request: Request) -> Response:
        query = _read_form(Part, dict(request.query_params))
        listed = await self._list_sent.of_endpoint(
            _endpoint_id(request),
            query.window,
            since=query.since,
            until=query.until,
            undelivered_only=query.undelivered_only,
            delivered_only=query.delivered_only,
            oldest_first=query.oldest_first,
        )
        return _json(asdict(_require(listed)))

    async def _figures(self, request: Request) -> Response:
        query = _read_form(OfApp, dict(request.query_params))
        return _json({"endpoints": await self._list_sent.figures(query.app_id, since=query.since)})

    async def _message(self, request: Request) -> Response:
        return _json(_require(await self._list_sent.message(request.path_params["id"])))

    async def _messages_of_swap(self, request: Request) -> Response:
        swap_id = _query_id(request, "swap_id")
        if swap_id is None:
            raise HTTPException(400, "swap_id is not an id")
        app_id = _query_id(request, "app_id")
        return _json({"messages": await self._list_sent.of_swap(swap_id, app_id=app_id)})

    async def _replay(self, request: Request) -> Response:
        message_id = request.path_params["id"]
        if not await self._replay_messages.one(message_id):
            raise NotThere
        return _json({"id": message_id, "is_due": True}, status=202)


def _answering(route: Handler, missing: str) -> Handler:
    """Let a route raise why it does nothing; return what answers that.

    :param missing: the words of a 404.
    """

    async def answer(request: Request) -> Response:
        try:
            return await route(request)
        except NotThere:
            return _error(404, missing)
        except HTTPException as error:
            return _error(error.status_code, error.detail)
        except UrlRefused as error:
            return _error(400, str(error))
        except TooMany:
            return _error(409, "the app has as many endpoints as it may", reason="full")
        except DisabledByOperator:
            words = "an operator disabled it, and only an operator enables it"
            return _error(409, words, reason="disabled")

    return answer


def _require(found: Value | None) -> Value:
    """
    :raises NotThere: when it is nothing.
    """
    if found is None:
        raise NotThere
    return found


def _endpoint_id(request: Request) -> UUID:
    """
    :raises NotThere: for what no endpoint has.
    """
    try:
        return UUID(request.path_params["id"])
    except ValueError:
        raise NotThere from None


def _query_id(request: Request, name: str) -> UUID | None:
    """
    :raises HTTPException: when it is no id.
    """
    text = request.query_params.get(name)
    try:
        return None if text is None else UUID(text)
    except ValueError:
        raise HTTPException(400, f"{name} is not an id") from None


def _read_form(form: type[Form], content: bytes | Mapping[str, str]) -> Form:
    """
    :raises HTTPException: with the member at fault.
    """
    try:
        if isinstance(content, bytes):
            return form.model_validate_json(content)
        return form.model_validate(content)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        words = f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
        raise HTTPException(400, words) from error


def _json(content: Mapping[str, Any], *, status: int = 200) -> Response:
    return Response(orjson.dumps(content), status, media_type="application/json")


def _error(status: int, words: str, *, reason: str | None = None) -> Response:
    return _json({"error": words, **({} if reason is None else {"reason": reason})}, status=status)
