"""What an operator does about money that waits for its owner, below `/admin`."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from pydantic import Field
from starlette.responses import JSONResponse, Response

from swap_runtime.operators.admin_routes import OperatorOrder
from swap_settler.forms import OrderForm, answers_wrong_forms, read_form, read_id
from swap_settler.operator.usecases.attach_claimable import AttachClaimable, AttachOrder
from swap_settler.operator.usecases.pay_claimable import PayClaimable, PaymentOrder

BALANCE: Final = "a balance"


class PayForm(OrderForm):
    """Who it goes to, and why that is right."""

    base_units: str = Field(pattern=r"^[1-9][0-9]{0,77}$")
    to_address: str = Field(min_length=1, max_length=100)

    def order(self, id: int, *, by: str) -> PaymentOrder:
        return PaymentOrder(id, int(self.base_units), self.to_address, by, self.reason)


class AttachForm(OrderForm):
    """Which swap it is for, and how that is known."""

    base_units: str = Field(pattern=r"^[1-9][0-9]{0,77}$")
    swap_id: UUID


class ClaimAdmin:
    def __init__(self, *, pay_claimable: PayClaimable, attach_claimable: AttachClaimable) -> None:
        self._pay_claimable = pay_claimable
        self._attach_claimable = attach_claimable

    @answers_wrong_forms
    async def pay(self, order: OperatorOrder) -> Response:
        """Answer `POST /admin/claimable/{id}/pay`."""
        claimable_id, form = read_id(order, of=BALANCE), read_form(order, PayForm)
        intent = await self._pay_claimable(form.order(claimable_id, by=order.by))
        return JSONResponse(
            {
                "intent_id": str(intent.id),
                "network": intent.network,
                "token": intent.token,
                "base_units": str(intent.base_units),
                "to_address": intent.to_address,
                "swap_id": intent.swap_id and str(intent.swap_id),
                "deposit_id": intent.deposit_id and str(intent.deposit_id),
            }
        )

    @answers_wrong_forms
    async def attach(self, order: OperatorOrder) -> Response:
        """Answer `POST /admin/claimable/{id}/attach`."""
        claimable_id, form = read_id(order, of=BALANCE), read_form(order, AttachForm)
        units, reason = int(form.base_units), form.reason
        swap = await self._attach_claimable(
            AttachOrder(claimable_id, units, form.swap_id, order.by, reason)
        )
        return JSONResponse(
            {
                "swap_id": str(swap.id),
                "status": swap.status.value,
                "sequence": swap.sequence,
                "credited_base_units": str(swap.credited_base_units),
            }
        )
