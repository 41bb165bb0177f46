"""What is owed to apps and paid by an operator's order, below `/admin`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from swap_runtime.operators.admin_routes import OperatorOrder
from swap_runtime.operators.paging import (
    answer_page,
    answers_wrong_queries,
    read_limit,
    read_number,
    read_query_number,
)
from swap_settler.forms import answers_wrong_forms, read_form, read_id
from swap_settler.operator.decide.partner_fees import PartnerFee
from swap_settler.operator.http.claims import BALANCE, PayForm
from swap_settler.operator.usecases.pay_partner_fees import PayPartnerFees


class FeeAdmin:
    def __init__(self, pay_partner_fees: PayPartnerFees) -> None:
        self._pay_partner_fees = pay_partner_fees

    @answers_wrong_queries
    async def list_all(self, request: Request) -> Response:
        """Answer `GET /admin/fees`."""
        limit, after = read_limit(request), read_query_number(request, "after")
        found = await self._pay_partner_fees.list_owed(after=after, limit=limit + 1)
        return answer_page("fees", found, limit=limit, show=_to_json, place=_place)

    async def show(self, request: Request) -> Response:
        """Answer `GET /admin/fees/{id}`."""
        id = read_number(request.path_params["id"])
        found = None if id is None else await self._pay_partner_fees.find_owed(id)
        if found is None:
            return JSONResponse({"error": "nothing is owed of this fee"}, status_code=404)
        return JSONResponse({"fee": _to_json(found)})

    @answers_wrong_forms
    async def pay(self, order: OperatorOrder) -> Response:
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


def _place(fee: PartnerFee) -> Mapping[str, str]:
    return {"after": str(fee.id)}


def _to_json(fee: PartnerFee) -> Mapping[str, Any]:
    return {
        "id": fee.id,
        "app_id": str(fee.app_id),
        "network": fee.network,
        "token": fee.token,
        "base_units": str(fee.base_units),
    }
