"""What came by a transaction and no swap has, below `/admin`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from swap_runtime.errors import RequestRefused
from swap_runtime.operators.admin_routes import OperatorOrder
from swap_runtime.operators.paging import read_number
from swap_settler.forms import (
    OrderForm,
    WrongForm,
    answers_wrong_forms,
    first_fault,
    read_form,
)
from swap_settler.operator.decide.rescues import ReturnOrder
from swap_settler.operator.http.signers import Hash
from swap_settler.operator.usecases.rescue_tokens import (
    CHANGED,
    LISTED_MAX,
    RETURNED_MAX,
    RescueTokens,
    Return,
    ReturnedTransfer,
)

HASH: Final[TypeAdapter[str]] = TypeAdapter(Hash)


class BoundTransfer(BaseModel):
    """A transfer that an order returns, as it was when the order was proposed."""

    model_config = ConfigDict(extra="forbid")

    token: str
    from_address: str
    to_address: str
    base_units: str = Field(pattern=r"^[1-9][0-9]{0,77}$")
    returned_to: str | None = None

    @classmethod
    def of(cls, one: ReturnedTransfer) -> BoundTransfer:
        return cls(**{**asdict(one), "base_units": str(one.base_units)})

    def transfer(self) -> ReturnedTransfer:
        return ReturnedTransfer(**{**self.model_dump(), "base_units": int(self.base_units)})


class ReturnForm(OrderForm):
    """Who gets it back, and how that is known; which, if there is more than one."""

    to_address: str = Field(min_length=1, max_length=100)
    token: str | None = Field(default=None, max_length=100)
    from_address: str | None = Field(default=None, max_length=100)
    # What is returned: with other transfers, nothing is ordered.
    transfers: list[BoundTransfer] | None = Field(default=None, max_length=RETURNED_MAX)

    def order(self, *, by: str) -> Return:
        bound = self.transfers
        return Return(
            to_address=self.to_address,
            by=by,
            reason=self.reason,
            token=self.token,
            from_address=self.from_address,
            transfers=None if bound is None else [one.transfer() for one in bound],
        )


class RescueAdmin:
    def __init__(self, rescue_tokens: RescueTokens) -> None:
        self._rescue_tokens = rescue_tokens

    async def list_all(self, request: Request) -> Response:
        """Answer `GET /admin/rescues`, newest first; `before` is the id of the last one seen."""
        before = read_number(request.query_params.get("before", ""))
        limit = read_number(request.query_params.get("limit", ""))
        found = await self._rescue_tokens.list_orders(
            before=before, limit=LISTED_MAX if limit is None else limit
        )
        return JSONResponse({"rescues": [_to_json(one) for one in found]})

    async def show(self, request: Request) -> Response:
        """Answer `GET /admin/rescues/{network}/{hash}`."""
        try:
            transaction_hash = _hash_of(request.path_params)
        except WrongForm as error:
            return JSONResponse({"error": str(error)}, status_code=400)
        network = request.path_params["network"]
        return _answer(await self._rescue_tokens(network, transaction_hash))

    @answers_wrong_forms
    async def order(self, order: OperatorOrder) -> Response:
        """Answer `POST /admin/rescues/{network}/{hash}`."""
        transaction_hash, form = read_return(order)
        back = form.order(by=order.by)
        return _answer(
            await self._rescue_tokens(order.target["network"], transaction_hash, back=back)
        )

    async def add_transfers(self, order: OperatorOrder) -> OperatorOrder:
        """Bind an order that is stored to the transfers that it returns.

        :raises RequestRefused: when there are none to return, or others than the order names.
        """
        transaction_hash, form = read_return(order)
        found = await self._rescue_tokens.find_returned(
            order.target["network"], transaction_hash, form.order(by=order.by)
        )
        present = [BoundTransfer.of(one) for one in found]
        if form.transfers not in (None, present):
            raise RequestRefused(CHANGED)
        return order.bound_to(form, transfers=present)


def read_return(order: OperatorOrder) -> tuple[str, ReturnForm]:
    """Return the transaction of an order, and its form.

    :raises WrongForm: when one of them is wrong.
    """
    return _hash_of(order.target), read_form(order, ReturnForm)


def _hash_of(target: Mapping[str, str]) -> str:
    """
    :raises WrongForm: when it is none.
    """
    try:
        return HASH.validate_python(target["hash"])
    except ValidationError as error:
        raise WrongForm(first_fault(error)) from error


def _answer(came: Sequence[Mapping[str, Any]]) -> Response:
    return JSONResponse({"came": list(came)})


def _to_json(one: ReturnOrder) -> Mapping[str, Any]:
    return {
        "id": one.id,
        "network": one.network,
        "transaction_hash": one.transaction_hash,
        "token": one.token,
        "base_units": str(one.base_units),
        "from": one.from_address,
        "to": one.to_address,
        "returned_to": one.returned_to,
        "by": one.by,
        "reason": one.reason,
        "at": one.at.isoformat(),
    }
