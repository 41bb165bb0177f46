"""The caps on what may leave, and the lines before them, below `/admin`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from swap_settler.domain.caps import CapState
from swap_settler.usecases.keep_caps import CapName, KeepCaps


class Said(BaseModel):
    """Who says so and why."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    by: str = Field(min_length=1, max_length=200)
    reason: str = Field(min_length=1, max_length=2000)


class CapOrder(Said):
    """Which cap."""

    network: str
    token: str | None = None
    app_id: UUID | None = None

    @property
    def name(self) -> CapName:
        return CapName(self.network, self.token, self.app_id)


class NewCap(CapOrder):
    """How much may leave: base units of its token, millionths of a dollar without one."""

    units: str = Field(pattern=r"^[0-9]{1,78}$")
    seconds: int = Field(ge=1, le=31 * 86_400)


class CapAdmin:
    def __init__(self, keep_caps: KeepCaps) -> None:
        self._keep_caps = keep_caps

    async def list_all(self, _: web.Request) -> web.Response:
        """Answer `GET /admin/caps`."""
        return _shown(await self._keep_caps.list_all())

    async def set(self, request: web.Request) -> web.Response:
        """Answer `POST /admin/caps`."""
        try:
            order = NewCap.model_validate_json(await request.read())
        except ValidationError as error:
            return _wrong(error)
        told = await self._keep_caps.set(
            order.name,
            units=int(order.units),
            span=timedelta(seconds=order.seconds),
            by=order.by,
            reason=order.reason,
        )
        return _shown(told)

    async def lift(self, request: web.Request) -> web.Response:
        """Answer `POST /admin/caps/lift`."""
        try:
            order = CapOrder.model_validate_json(await request.read())
        except ValidationError as error:
            return _wrong(error)
        return _shown(await self._keep_caps.lift(order.name, by=order.by, reason=order.reason))

    async def list_waiting(self, _: web.Request) -> web.Response:
        """Answer `GET /admin/payouts/queue`."""
        found = await self._keep_caps.list_waiting()
        told: list[dict[str, Any]] = [
            {
                "intent_id": str(one.intent_id),
                "swap_id": one.swap_id and str(one.swap_id),
                "kind": one.kind,
                "network": one.network,
                "token": one.token,
                "base_units": str(one.base_units),
                "since": one.since.isoformat(),
                "reason": one.reason,
                "is_let_through": one.is_let_through,
            }
            for one in found
        ]
        return web.json_response({"waiting": told})

    async def let_through(self, request: web.Request) -> web.Response:
        """Answer `POST /admin/payouts/queue/{id}/pass`."""
        try:
            intent_id = UUID(request.match_info["id"])
            said = Said.model_validate_json(await request.read())
        except ValidationError as error:
            return _wrong(error)
        except ValueError:
            return web.json_response({"error": "not the id of a payment"}, status=400)
        await self._keep_caps.let_through(intent_id, by=said.by, reason=said.reason)
        return await self.list_waiting(request)


def _shown(caps: Sequence[CapState]) -> web.Response:
    told: list[dict[str, Any]] = [
        {
            "network": cap.network,
            "token": cap.token,
            "app_id": cap.app_id and str(cap.app_id),
            "counts": "base_units" if cap.token else "usd_micros",
            "units": str(cap.units),
            "seconds": int(cap.span.total_seconds()),
            "spent": str(cap.spent),
            "waiting": cap.waiting,
            "set_at": cap.set_at.isoformat(),
            "by": cap.set_by,
            "reason": cap.set_because,
        }
        for cap in caps
    ]
    return web.json_response({"caps": told})


def _wrong(error: ValidationError) -> web.Response:
    fault = error.errors()[0]
    where = ".".join(map(str, fault["loc"])) or "body"
    return web.json_response({"error": f"{where}: {fault['msg']}"}, status=400)
