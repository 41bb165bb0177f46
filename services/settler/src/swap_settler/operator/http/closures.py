"""Closed networks, below `/admin`."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from swap_runtime.operators.admin_routes import OperatorOrder
from swap_settler.forms import OrderForm, answers_wrong_forms, read_form
from swap_settler.operator.usecases.close_networks import CloseNetworks


class ClosureForm(OrderForm):
    """Which network, and why."""

    network: str


class ClosureAdmin:
    def __init__(self, close_networks: CloseNetworks) -> None:
        self._close_networks = close_networks

    async def list_all(self, _: Request) -> Response:
        """Answer `GET /admin/closures`."""
        return await self._list_response()

    @answers_wrong_forms
    async def close(self, order: OperatorOrder) -> Response:
        """Answer `POST /admin/closures/close`."""
        form = read_form(order, ClosureForm)
        await self._close_networks.close(form.network, by=order.by, reason=form.reason)
        return await self._list_response()

    @answers_wrong_forms
    async def open(self, order: OperatorOrder) -> Response:
        """Answer `POST /admin/closures/open`."""
        form = read_form(order, ClosureForm)
        await self._close_networks.open(form.network, by=order.by, reason=form.reason)
        return await self._list_response()

    async def _list_response(self) -> Response:
        return JSONResponse({"closures": list(await self._close_networks.list_all())})
