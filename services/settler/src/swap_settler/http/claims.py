"""What an operator does about money that waits for its owner, below `/admin`."""

from __future__ import annotations

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from swap_settler.usecases.pay_claimable import Order, PayClaimable


class PayOrder(BaseModel):
    """Who it goes to, who says so and why that is right."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    base_units: str = Field(pattern=r"^[1-9][0-9]{0,77}$")
    to_address: str = Field(min_length=1, max_length=100)
    by: str = Field(min_length=1, max_length=200)
    reason: str = Field(min_length=1, max_length=2000)


class ClaimAdmin:
    def __init__(self, *, pay_claimable: PayClaimable) -> None:
        self._pay_claimable = pay_claimable

    async def pay(self, request: web.Request) -> web.Response:
        """Answer `POST /admin/claimable/{id}/pay`."""
        try:
            claimable_id = int(request.match_info["id"])
            asked = PayOrder.model_validate_json(await request.read())
        except ValidationError as error:
            fault = error.errors()[0]
            where = ".".join(map(str, fault["loc"])) or "body"
            return web.json_response({"error": f"{where}: {fault['msg']}"}, status=400)
        except ValueError:
            return web.json_response({"error": "not the id of a balance"}, status=400)
        intent = await self._pay_claimable(
            Order(claimable_id, int(asked.base_units), asked.to_address, asked.by, asked.reason)
        )
        return web.json_response(
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
