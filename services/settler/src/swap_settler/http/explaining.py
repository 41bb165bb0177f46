"""What an operator says of payments that were not signed here, below `/admin`."""

from __future__ import annotations

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from swap_settler.http.signers import Hash
from swap_settler.usecases.explain_payments import ExplainPayments


class Explanation(BaseModel):
    """Which transaction, who understands it, and how it came about."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    network: str = Field(min_length=1, max_length=100)
    transaction_hash: Hash
    by: str = Field(min_length=1, max_length=200)
    reason: str = Field(min_length=1, max_length=2000)


class ExplainAdmin:
    def __init__(self, explain_payments: ExplainPayments) -> None:
        self._explain_payments = explain_payments

    async def explain(self, request: web.Request) -> web.Response:
        """Answer `POST /admin/payouts/explain`."""
        try:
            said = Explanation.model_validate_json(await request.read())
        except ValidationError as error:
            fault = error.errors()[0]
            where = ".".join(map(str, fault["loc"])) or "body"
            return web.json_response({"error": f"{where}: {fault['msg']}"}, status=400)
        taken = await self._explain_payments(
            said.network, said.transaction_hash, by=said.by, reason=said.reason
        )
        told = [
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
        return web.json_response({"ended": told})
