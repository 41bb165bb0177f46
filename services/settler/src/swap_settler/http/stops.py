"""The kill switch, below `/admin`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from swap_settler.domain.signer import EVERYWHERE, Stop
from swap_settler.usecases.stop_payouts import StopPayouts

MEANS: Final = (
    "nothing is signed there; what was signed is sent until it is mined, every chain is watched "
    "and everything is answered as before"
)


class Order(BaseModel):
    """Where, who says so, and why."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    network: str | None = None  # None: everywhere
    by: str = Field(min_length=1, max_length=200)
    reason: str = Field(min_length=1, max_length=2000)


class StopAdmin:
    def __init__(self, stop_payouts: StopPayouts) -> None:
        self._stop_payouts = stop_payouts

    async def list_all(self, _: web.Request) -> web.Response:
        """Answer `GET /admin/payouts/stops`."""
        return _shown(await self._stop_payouts.list_all())

    async def stop(self, request: web.Request) -> web.Response:
        """Answer `POST /admin/payouts/stop`."""
        try:
            order = Order.model_validate_json(await request.read())
        except ValidationError as error:
            return _wrong(error)
        where = order.network or EVERYWHERE
        return _shown(await self._stop_payouts.stop(where, by=order.by, reason=order.reason))

    async def lift(self, request: web.Request) -> web.Response:
        """Answer `POST /admin/payouts/go`."""
        try:
            order = Order.model_validate_json(await request.read())
        except ValidationError as error:
            return _wrong(error)
        where = order.network or EVERYWHERE
        return _shown(await self._stop_payouts.lift(where, by=order.by, reason=order.reason))


def _shown(stops: Sequence[Stop]) -> web.Response:
    told: list[dict[str, Any]] = [
        {
            "network": stop.network,
            "at": stop.at.isoformat(),
            "by": stop.by,
            "reason": stop.reason,
            "means": MEANS,
        }
        for stop in stops
    ]
    return web.json_response({"stops": told})


def _wrong(error: ValidationError) -> web.Response:
    fault = error.errors()[0]
    where = ".".join(map(str, fault["loc"])) or "body"
    return web.json_response({"error": f"{where}: {fault['msg']}"}, status=400)
