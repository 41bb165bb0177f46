"""Who must not be paid, below `/admin`."""

from __future__ import annotations

from typing import Any

from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from swap_runtime.operators.admin_routes import Order
from swap_settler.forms import OrderForm, answers_wrong_forms, read_form
from swap_settler.operator.usecases.manage_blocked_addresses import (
    BlockOrder,
    ManageBlockedAddresses,
)


class AddressForm(OrderForm):
    """Which addresses, and why."""

    addresses: list[str] = Field(min_length=1, max_length=10_000)
    network: str | None = None  # None: on all of them

    def order(self, by: str) -> BlockOrder:
        return BlockOrder(self.addresses, self.network, by, self.reason)


class BlockedAdmin:
    def __init__(self, manage_blocked_addresses: ManageBlockedAddresses) -> None:
        self._manage_blocked_addresses = manage_blocked_addresses

    async def list_all(self, _: Request) -> Response:
        """Answer `GET /admin/blocked`."""
        document: list[dict[str, Any]] = [
            {
                "address": one.address,
                "network": one.network,
                "at": one.at.isoformat(),
                "by": one.by,
                "reason": one.reason,
            }
            for one in await self._manage_blocked_addresses.list_all()
        ]
        return JSONResponse({"blocked": document})

    @answers_wrong_forms
    async def block(self, order: Order) -> Response:
        """Answer `POST /admin/blocked`."""
        form = read_form(order, AddressForm)
        blocked = await self._manage_blocked_addresses.block(form.order(order.by))
        return JSONResponse({"blocked": blocked})

    @answers_wrong_forms
    async def lift(self, order: Order) -> Response:
        """Answer `POST /admin/blocked/lift`."""
        form = read_form(order, AddressForm)
        lifted = await self._manage_blocked_addresses.lift(form.order(order.by))
        return JSONResponse({"lifted": lifted})
