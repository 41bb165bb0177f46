"""What is owed to apps and paid by an operator's order, below `/admin`."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from swap_runtime.operators.admin_routes import Order
from swap_settler.forms import answers_wrong_forms, read_form, read_id
from swap_settler.operator.http.claims import BALANCE, PayForm
from swap_settler.operator.usecases.pay_partner_fees import PayPartnerFees


class FeeAdmin:
    def __init__(self, pay_partner_fees: PayPartnerFees) -> None:
        self._pay_partner_fees = pay_partner_fees

    async def list_all(self, _: Request) -> Response:
        """Answer `GET /admin/fees`."""
        owed = [
            {
                "id": fee.id,
                "app_id": str(fee.app_id),
                "network": fee.network,
                "token": fee.token,
                "base_units": str(fee.base_units),
            }
            for fee in await self._pay_partner_fees.list_owed()
        ]
        return JSONResponse({"fees": owed})

    @answers_wrong_forms
    async def pay(self, order: Order) -> Response:
        """Answer `POST /admin/fees/{id}/pay`."""
        fee_id, form = read_id(order, of=BALANCE), read_form(order, PayForm)
        payment = await self._pay_partner_fees(form.order(fee_id, by=order.by))
        return JSONResponse(
            {
                "intent_id": str(payment.id),
                "app_id": str(payment.app_id),
                "network": payment.network,
                "token": payment.token,
                "base_units": str(payment.base_units),
                "to_address": payment.to_address,
            }
        )
