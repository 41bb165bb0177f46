"""What the bodies of orders have in common."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import JSONResponse, Response

from swap_runtime.operators.admin_routes import Order

Form = TypeVar("Form", bound=BaseModel)


class OrderForm(BaseModel):
    """Why it is ordered."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    # Older clients send a name. It is ignored: the token says who orders.
    by: Any = None
    reason: str = Field(min_length=1, max_length=2000)


def read_form(order: Order, form: type[Form]) -> Form:
    """
    :raises ValueError: with words for who sent it.
    """
    try:
        return form.model_validate_json(order.body)
    except ValidationError as error:
        raise ValueError(first_fault(error)) from error


def read_id(order: Order, *, of: str) -> int:
    """Return the number in the address.

    :raises ValueError: with words for who sent it.
    """
    text = order.target["id"]
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"not the id of {of}")
    return int(text)


def first_fault(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, fault["loc"])) or "body"
    return f"{where}: {fault['msg']}"


def wrong(error: ValueError) -> Response:
    return JSONResponse({"error": str(error)}, status_code=400)
