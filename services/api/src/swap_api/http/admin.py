"""What operators do with partners, apps and keys, on the internal port."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Self
from uuid import UUID

import orjson
from aiohttp import web
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from swap_api.domain.keys import Allowances, Environment, KeyKind
from swap_api.domain.refusals import ApiRefusal
from swap_api.usecases.keep_partners import KeepPartners
from swap_contracts.public.errors import ERRORS, ErrorCode

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Rate = Annotated[int, Field(gt=0, le=10_000_000)]
BAD_REQUEST: Final = 400


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PartnerBody(_Body):
    name: Name


class AppBody(_Body):
    partner_id: UUID
    name: Name
    environment: Environment
    limits_lifted: bool = False
    reads_per_minute: Rate | None = None
    prices_per_minute: Rate | None = None
    creates_per_minute: Rate | None = None
    ceiling_factor: Rate | None = None
    pending_swaps_max: Rate | None = None
    swap_lifetime_seconds: Rate | None = None

    @property
    def swap_lifetime(self) -> timedelta | None:
        seconds = self.swap_lifetime_seconds
        return None if seconds is None else timedelta(seconds=seconds)

    @model_validator(mode="after")
    def _live_swaps_live_as_promised(self) -> Self:
        if self.swap_lifetime_seconds is not None and self.environment is not Environment.TEST:
            raise ValueError("only swaps of a test app may live for another time")
        return self


class KeyBody(_Body):
    app_id: UUID
    kind: KeyKind = KeyKind.SECRET
    expires_at: datetime | None = None


class AdminRoutes:
    def __init__(self, keep_partners: KeepPartners) -> None:
        self._keep = keep_partners

    def all(self) -> tuple[tuple[str, str, Handler], ...]:
        """Return method, path below /admin, and handler of each."""
        routes: tuple[tuple[str, str, Handler], ...] = (
            ("POST", "/partners", self._add_partner),
            ("GET", "/partners", self._list_partners),
            ("POST", "/apps", self._add_app),
            ("GET", "/apps", self._list_apps),
            ("POST", "/keys", self._issue_key),
            ("GET", "/keys", self._list_keys),
            ("DELETE", "/keys/{id}", self._revoke_key),
            ("POST", "/keys/{id}/revoke", self._revoke_key),
        )
        return tuple((method, path, _told(handler)) for method, path, handler in routes)

    async def _add_partner(self, request: web.Request) -> web.Response:
        body = PartnerBody.model_validate_json(await request.read())
        return _created({"id": await self._keep.add_partner(body.name), "name": body.name})

    async def _add_app(self, request: web.Request) -> web.Response:
        body = AppBody.model_validate_json(await request.read())
        app_id = await self._keep.add_app(
            body.partner_id,
            name=body.name,
            environment=body.environment,
            allowances=Allowances(
                reads=body.reads_per_minute,
                prices=body.prices_per_minute,
                creates=body.creates_per_minute,
                ceiling_factor=body.ceiling_factor,
                pending_swaps=body.pending_swaps_max,
                is_lifted=body.limits_lifted,
                swap_lifetime=body.swap_lifetime,
            ),
        )
        return _created({"id": app_id, **body.model_dump(mode="json")})

    async def _issue_key(self, request: web.Request) -> web.Response:
        body = KeyBody.model_validate_json(await request.read())
        issued = await self._keep.issue_key(body.app_id, body.kind, expires_at=body.expires_at)
        return _created({"id": issued.id, "key": issued.key, **body.model_dump(mode="json")})

    async def _revoke_key(self, request: web.Request) -> web.Response:
        key_id = UUID(request.match_info["id"])
        await self._keep.revoke_key(key_id)
        return _json({"id": key_id, "revoked": True})

    async def _list_partners(self, request: web.Request) -> web.Response:
        return _json({"partners": await self._keep.list_partners()})

    async def _list_apps(self, request: web.Request) -> web.Response:
        return _json({"apps": await self._keep.list_apps()})

    async def _list_keys(self, request: web.Request) -> web.Response:
        app_id = request.query.get("app_id")
        keys = await self._keep.list_keys(UUID(app_id) if app_id else None)
        return _json({"keys": keys})


def _told(handler: Handler) -> Handler:
    """Say a mistake in the words of what is wrong with it."""

    async def told(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except ApiRefusal as refusal:
            status = ERRORS[refusal.code].http_status
            return _json({"error": refusal.message, "code": refusal.code}, status)
        except ValidationError as error:
            faults = error.errors(include_url=False, include_input=False, include_context=False)
            said = "; ".join(f"{'.'.join(map(str, f['loc']))}: {f['msg']}" for f in faults)
            return _json({"error": said, "code": ErrorCode.VALIDATION_ERROR}, BAD_REQUEST)
        except ValueError as error:
            return _json({"error": str(error), "code": ErrorCode.VALIDATION_ERROR}, BAD_REQUEST)

    return told


def _created(content: Mapping[str, Any]) -> web.Response:
    return _json(content, 201)


def _json(content: Mapping[str, Any], status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(content), status=status, content_type="application/json")
