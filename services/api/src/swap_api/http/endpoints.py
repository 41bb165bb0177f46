"""The declaration of an endpoint: its route, its part of OpenAPI and its tests are made of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from starlette.responses import Response

from swap_api.admission.decide.rate_limits import Kind
from swap_api.http.parameters import Parameters
from swap_api.http.requests import Request
from swap_api.model.keys import Caller, Scope
from swap_api.model.members import Actor
from swap_api.model.refusals import ApiRefusal
from swap_contracts.public.errors import ErrorCode

API: Final = "/api/v2"
MANAGEMENT: Final = "/management/v1"
LOOKUP_WEIGHT: Final = 2  # a node may be queried
PAGED: Final = {
    "X-Total-Count": "How many there are, counted up to 10,000",
    "Link": "The pages around this one (RFC 8288)",
}


@dataclass(frozen=True, slots=True)
class Context:
    """The caller of a request, and its id in logs and errors."""

    caller: Caller
    client: str  # the address that separates clients of a publishable key
    request_id: str
    actor: Actor | None = None  # the member or operator, on management endpoints


Handler = Callable[[Request, Context], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    method: str
    path: str  # `{name}` takes one part
    handler: Handler
    summary: str
    answers: Any  # the type of `data`
    kind: Kind = Kind.READ
    weight: int = 1  # what a request counts
    scope: Scope = Scope.ANY
    needs_process_alone: bool = False  # answered while Postgres is away, to keys known before
    query: type[Parameters] | None = None
    identifies_by_query: bool = False  # its query names one thing that a tenant owns
    body: type[Parameters] | None = None
    refuses: Sequence[ErrorCode] = ()
    is_idempotent: bool = False  # with an idempotency key: the first answer again
    creates: bool = False  # something new with each request; with an idempotency key once at most
    shows_secret: bool = False  # in its answer, which is not kept to be given again
    is_live: bool = False  # also as server-sent events, on request
    is_matched_first: bool = False  # its route is tried before those that are not
    is_conditional: bool = False  # answered with 304 where the caller has it already
    headers: Mapping[str, str] = field(default_factory=dict)  # of the answer, for the document
    operation: str = ""  # its id in the document; empty: made of the handler's name

    @property
    def names_owned(self) -> bool:
        """Whether it names one thing that a tenant owns: for others it does not exist."""
        return "{" in self.path or self.identifies_by_query


def with_weights(endpoints: Sequence[Endpoint], weights: Mapping[str, int]) -> list[Endpoint]:
    """Return the endpoints with other weights, by method and path.

    :raises ValueError: when there is no such endpoint.
    """
    named = {f"{one.method} {one.path}": one for one in endpoints}
    if unknown := sorted(weights.keys() - named):
        raise ValueError(f"there is no such endpoint: {', '.join(unknown)}")
    return [replace(one, weight=weights.get(key, one.weight)) for key, one in named.items()]


def declared_members(
    endpoints: Sequence[Endpoint],
) -> Mapping[tuple[str, str | None], frozenset[str]]:
    """Return the members of each endpoint's body, by method and path."""
    return {
        (one.method, one.path): frozenset(one.body.model_fields)
        for one in endpoints
        if one.body is not None
    }


def not_allowed(allowed: str) -> ApiRefusal:
    """Refuse a method that an address does not answer.

    :param allowed: those that it answers.
    """
    return ApiRefusal(
        ErrorCode.METHOD_NOT_ALLOWED, f"This address answers {allowed}", headers={"allow": allowed}
    )
