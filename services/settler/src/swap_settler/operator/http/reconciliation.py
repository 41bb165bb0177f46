"""The operators' routes for payments that were not signed here, below `/admin`."""

from __future__ import annotations

from pydantic import Field
from starlette.responses import JSONResponse, Response

from swap_runtime.operators.admin_routes import OperatorOrder
from swap_settler.forms import OrderForm, answers_wrong_forms, read_form
from swap_settler.operator.http.signers import Hash
from swap_settler.operator.usecases.reconcile_unknown_payments import ReconcileUnknownPayments


class Explanation(OrderForm):
    """Which transaction, and how it came about."""

    network: str = Field(min_length=1, max_length=100)
    transaction_hash: Hash


class ReconciliationAdmin:
    def __init__(self, reconcile_unknown_payments: ReconcileUnknownPayments) -> None:
        self._reconcile_unknown_payments = reconcile_unknown_payments

    @answers_wrong_forms
    async def reconcile(self, order: OperatorOrder) -> Response:
        """Answer `POST /admin/payouts/explain`."""
        form = read_form(order, Explanation)
        payments = await self._reconcile_unknown_payments(
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
            for one in payments
        ]
        return JSONResponse({"ended": document})
