"""What an operator has swept, below `/admin`."""

from __future__ import annotations

from pydantic import Field
from starlette.responses import JSONResponse, Response

from swap_runtime.operators.admin_routes import OperatorOrder
from swap_settler.forms import OrderForm, answers_wrong_forms, read_form
from swap_settler.operator.usecases.order_manual_sweep import OrderManualSweep, SweepOrder


class SweepForm(OrderForm):
    """What is to be swept from where, and why."""

    network: str
    address: str = Field(min_length=1, max_length=100)
    token: str = Field(min_length=1, max_length=100)


class SweepAdmin:
    def __init__(self, order_manual_sweep: OrderManualSweep) -> None:
        self._order_manual_sweep = order_manual_sweep

    @answers_wrong_forms
    async def order(self, order: OperatorOrder) -> Response:
        """Answer `POST /admin/sweeps`."""
        form = read_form(order, SweepForm)
        await self._order_manual_sweep(SweepOrder(**{**form.model_dump(), "by": order.by}))
        return JSONResponse({"ordered": True})
