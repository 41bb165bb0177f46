"""What an operator says of payments that were not signed here, below `/admin`."""

from __future__ import annotations

from aiohttp import web
from pydantic import Field

from swap_runtime.admin_routes import Order
from swap_settler.http.forms import OrderForm, read_form, wrong
from swap_settler.http.signers import Hash
from swap_settler.usecases.explain_payments import ExplainPayments


class Explanation(OrderForm):
    """Which transaction, and how it came about."""

    network: str = Field(min_length=1, max_length=100)
    transaction_hash: Hash


class ExplainAdmin:
    def __init__(self, explain_payments: ExplainPayments) -> None:
        self._explain_payments = explain_payments

    async def explain(self, order: Order) -> web.Response:
        """Answer `POST /admin/payouts/explain`."""
        try:
            form = read_form(order, Explanation)
        except ValueError as error:
            return wrong(error)
        taken = await self._explain_payments(
            form.network, form.transaction_hash, by=order.by, reason=form.reason
        )
        document = [
            {
                "intent_id": str(one.intent_id),
                "swap_id": one.swap_id and str(one.swap_id),
                "paid_id": str(one.log.paid_id),
                "to": one.log.to_address,
                "token": one.log.token,
                "base_units": str(one.log.base_units),
                "end": one.end.value,
            }
            for one in taken
        ]
        return web.json_response({"ended": document})
