"""What the bodies of orders have in common."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import JSONResponse, Response

from swap_runtime.operators.admin_routes import OperatorOrder
from swap_runtime.operators.paging import read_number

Form = TypeVar("Form", bound=BaseModel)
T = TypeVar("T")
Method = Callable[[Any, OperatorOrder], Awaitable[T]]


class WrongForm(ValueError):
    """What is wrong with an order, in words for who sent it. Nothing was done yet."""


class OrderForm(BaseModel):
    """Why it is ordered."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    # Older clients send a name. It is ignored: the token identifies the operator.
    by: Any = None
    reason: str = Field(min_length=1, max_length=2000)


def read_form(order: OperatorOrder, form: type[Form]) -> Form:
    """
    :raises WrongForm: when it is another form.
    """
    try:
        return form.model_validate_json(order.body)
    except ValidationError as error:
        raise WrongForm(first_fault(error)) from error


def read_id(order: OperatorOrder, *, of: str) -> int:
    """Return the number in the address.

    :raises WrongForm: when it is none, or has more digits than any id.
    """
    id = read_number(order.target["id"])
    if id is None:
        raise WrongForm(f"not the id of {of}")
    return id


def first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, fault["loc"])) or "body"
    return f"{where}: {fault['msg']}"


def answers_wrong_forms(carry_out: Method[Response]) -> Method[Response]:
    """Answer an order with a wrong form with 400 and the words."""

    @wraps(carry_out)
    async def answer(self: Any, order: OperatorOrder) -> Response:
        try:
            return await carry_out(self, order)
        except WrongForm as error:
            return JSONResponse({"error": str(error)}, status_code=400)

    return answer


def skips_wrong_forms(needs_second: Method[str | None]) -> Method[str | None]:
    """Ask no second operator about an order with a wrong form: it is refused when it is read."""

    @wraps(needs_second)
    async def check_second(self: Any, order: OperatorOrder) -> str | None:
        try:
            return await needs_second(self, order)
        except WrongForm:
            return None

    return check_second
