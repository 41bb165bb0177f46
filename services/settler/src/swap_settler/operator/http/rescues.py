"""What came by a transaction and no swap has, below `/admin`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import Field, TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from swap_runtime.operators.admin_routes import Order
from swap_settler.forms import OrderForm, answers_wrong_forms, first_fault, read_form
from swap_settler.operator.http.signers import Hash
from swap_settler.operator.usecases.rescue_tokens import RescueTokens, Return

HASH: Final[TypeAdapter[str]] = TypeAdapter(Hash)


class ReturnForm(OrderForm):
    """Who gets it back, and how that is known; which, if there is more than one."""

    to_address: str = Field(min_length=1, max_length=100)
    token: str | None = Field(default=None, max_length=100)
    from_address: str | None = Field(default=None, max_length=100)


class RescueAdmin:
    def __init__(self, rescue_tokens: RescueTokens) -> None:
        self._rescue_tokens = rescue_tokens

    async def show(self, request: Request) -> Response:
        """Answer `GET /admin/rescues/{network}/{hash}`."""
        return await self._answer(request.path_params, None)

    @answers_wrong_forms
    async def order(self, order: Order) -> Response:
        """Answer `POST /admin/rescues/{network}/{hash}`."""
        form = read_form(order, ReturnForm)
        return await self._answer(order.target, Return(**{**form.model_dump(), "by": order.by}))

    async def _answer(self, target: Mapping[str, str], back: Return | None) -> Response:
        try:
            transaction_hash = HASH.validate_python(target["hash"])
        except ValidationError as error:
            return JSONResponse({"error": first_fault(error)}, status_code=400)
        network = target["network"]
        came = await self._rescue_tokens(network, transaction_hash, back=back)
        return JSONResponse({"came": list(came)})
