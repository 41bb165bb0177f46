"""What an operator does about money that waits for its owner, below `/admin`."""

from __future__ import annotations

from typing import TypeVar
from uuid import UUID

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from swap_settler.usecases.attach_claimable import AttachClaimable, AttachOrder
from swap_settler.usecases.pay_claimable import Order, PayClaimable

Form = TypeVar("Form", bound=BaseModel)


class PayOrder(BaseModel):
    """Who it goes to, who says so and why that is right."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    base_units: str = Field(pattern=r"^[1-9][0-9]{0,77}$")
    to_address: str = Field(min_length=1, max_length=100)
    by: str = Field(min_length=1, max_length=200)
    reason: str = Field(min_length=1, max_length=2000)


class AttachOrderBody(BaseModel):
    """Which swap it is for, who says so and how that is known."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    base_units: str = Field(pattern=r"^[1-9][0-9]{0,77}$")
    swap_id: UUID
    by: str = Field(min_length=1, max_length=200)
    reason: str = Field(min_length=1, max_length=2000)


class ClaimAdmin:
    def __init__(self, *, pay_claimable: PayClaimable, attach_claimable: AttachClaimable) -> None:
        self._pay_claimable = pay_claimable
        self._attach_claimable = attach_claimable

    async def pay(self, request: web.Request) -> web.Response:
        """Answer `POST /admin/claimable/{id}/pay`."""
        try:
            claimable_id, asked = await read_order(request, PayOrder)
        except ValueError as error:
            return web.json_response({"error": str(error)}, status=400)
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

    async def attach(self, request: web.Request) -> web.Response:
        """Answer `POST /admin/claimable/{id}/attach`."""
        try:
            claimable_id, asked = await read_order(request, AttachOrderBody)
        except ValueError as error:
            return web.json_response({"error": str(error)}, status=400)
        units, by = int(asked.base_units), asked.by
        swap = await self._attach_claimable(
            AttachOrder(claimable_id, units, asked.swap_id, by, asked.reason)
        )
        return web.json_response(
            {
                "swap_id": str(swap.id),
                "status": swap.status.value,
                "sequence": swap.sequence,
                "credited_base_units": str(swap.credited_base_units),
            }
        )


async def read_order(request: web.Request, form: type[Form]) -> tuple[int, Form]:
    """Return which balance is meant, and the body.

    :raises ValueError: with words for who sent it.
    """
    text = request.match_info["id"]
    if not text.isdecimal():
        raise ValueError("not the id of a balance")
    try:
        return int(text), form.model_validate_json(await request.read())
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"])) or "body"
        raise ValueError(f"{where}: {fault['msg']}") from error
