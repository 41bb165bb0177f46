"""What is owed to apps and paid by an operator's order, below `/admin`."""

from __future__ import annotations

from aiohttp import web

from swap_settler.http.claims import PayOrder, read_order
from swap_settler.usecases.pay_claimable import Order
from swap_settler.usecases.pay_partner_fees import PayPartnerFees


class FeeAdmin:
    def __init__(self, pay_partner_fees: PayPartnerFees) -> None:
        self._pay_partner_fees = pay_partner_fees

    async def list_all(self, _: web.Request) -> web.Response:
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
        return web.json_response({"fees": owed})

    async def pay(self, request: web.Request) -> web.Response:
        """Answer `POST /admin/fees/{id}/pay`."""
        try:
            fee_id, asked = await read_order(request, PayOrder)
        except ValueError as error:
            return web.json_response({"error": str(error)}, status=400)
        payment = await self._pay_partner_fees(
            Order(fee_id, int(asked.base_units), asked.to_address, asked.by, asked.reason)
        )
        return web.json_response(
            {
                "intent_id": str(payment.id),
                "app_id": str(payment.app_id),
                "network": payment.network,
                "token": payment.token,
                "base_units": str(payment.base_units),
                "to_address": payment.to_address,
            }
        )
