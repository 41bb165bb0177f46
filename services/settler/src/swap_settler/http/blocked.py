"""Who must not be paid, below `/admin`."""

from __future__ import annotations

from typing import Any

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from swap_settler.usecases.keep_blocked import BlockOrder, KeepBlocked


class Order(BaseModel):
    """Which addresses, who says so, and why."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    addresses: list[str] = Field(min_length=1, max_length=10_000)
    network: str | None = None  # None: on all of them
    by: str = Field(min_length=1, max_length=200)
    reason: str = Field(min_length=1, max_length=2000)

    @property
    def told(self) -> BlockOrder:
        return BlockOrder(self.addresses, self.network, self.by, self.reason)


class BlockedAdmin:
    def __init__(self, keep_blocked: KeepBlocked) -> None:
        self._keep_blocked = keep_blocked

    async def list_all(self, _: web.Request) -> web.Response:
        """Answer `GET /admin/blocked`."""
        told: list[dict[str, Any]] = [
            {
                "address": one.address,
                "network": one.network,
                "at": one.at.isoformat(),
                "by": one.by,
                "reason": one.reason,
            }
            for one in await self._keep_blocked.list_all()
        ]
        return web.json_response({"blocked": told})

    async def block(self, request: web.Request) -> web.Response:
        """Answer `POST /admin/blocked`."""
        try:
            order = Order.model_validate_json(await request.read())
        except ValidationError as error:
            return _wrong(error)
        return web.json_response({"blocked": await self._keep_blocked.block(order.told)})

    async def lift(self, request: web.Request) -> web.Response:
        """Answer `POST /admin/blocked/lift`."""
        try:
            order = Order.model_validate_json(await request.read())
        except ValidationError as error:
            return _wrong(error)
        return web.json_response({"lifted": await self._keep_blocked.lift(order.told)})


def _wrong(error: ValidationError) -> web.Response:
    fault = error.errors()[0]
    where = ".".join(map(str, fault["loc"])) or "body"
    return web.json_response({"error": f"{where}: {fault['msg']}"}, status=400)
