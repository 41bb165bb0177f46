"""What a service offers operators below `/admin`: what they read, and what they order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from swap_runtime.operators.identities import Operator, Role

Handler = Callable[[Request], Awaitable[Response]]
READING = frozenset({Role.VIEWER, Role.OPERATOR})
ORDERING = frozenset({Role.OPERATOR})


def operator_of(request: Request) -> Operator:
    """Return the operator of a request's token below `/admin`."""
    operator: Operator = request.state.operator
    return operator


@dataclass(frozen=True, slots=True)
class AdminRoute:
    """One address below `/admin`: `AdminRoute("GET", "/signers", list_all)`.

    What is not a GET is an order, and is logged as one.
    """

    method: str
    path: str
    handler: Handler
    is_for_services: bool = False
    logs_itself: bool = False  # its handler writes the operator log

    @property
    def opens_to(self) -> frozenset[Role]:
        roles = READING if self.method == "GET" else ORDERING
        return roles | {Role.SERVICE} if self.is_for_services else roles


@dataclass(frozen=True, slots=True)
class OperatorOrder:
    """What an operator orders. It can be repeated from what is stored of it."""

    by: str  # the operator by its token; of an approved order both operators
    target: Mapping[str, str]  # the variable parts of the address
    body: bytes
    is_approved: bool = False  # by a second operator

    def bound_to(self, form: BaseModel, **facts: Any) -> OperatorOrder:
        """Return the order with these facts in its form, to be stored until it is approved."""
        bound = form.model_copy(update=facts)
        return replace(self, body=bound.model_dump_json().encode())


CarryOut = Callable[[OperatorOrder], Awaitable[Response]]
# Why an order needs the approval of a second operator; None where it needs none.
NeedsSecond = Callable[[OperatorOrder], Awaitable[str | None]]
# Adds the facts that an order was based on before it is stored, so that the proposal cannot be
# carried out once they have changed.
AddFacts = Callable[[OperatorOrder], Awaitable[OperatorOrder]]


@dataclass(frozen=True, slots=True)
class OrderRoute:
    """One order, below `/admin`; POST."""

    path: str
    carry_out: CarryOut
    needs_second: NeedsSecond | None = None
    add_facts: AddFacts | None = None

    @property
    def action(self) -> str:
        return f"POST {self.path}"
