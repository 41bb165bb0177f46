"""Endpoints that are one call of a use case: what it is given, and how its result is answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypedDict, TypeVar, Unpack
from uuid import UUID

from starlette.responses import Response

from swap_api.admission.decide.rate_limits import Kind
from swap_api.http.endpoints import Context, Endpoint
from swap_api.http.parameters import PageParameters, Parameters, id_of, parse_query
from swap_api.http.requests import Request
from swap_api.management.decide.listing import Part, Row, Window
from swap_api.management.http.addresses import get_endpoint, post_endpoint
from swap_api.management.http.answers import (
    actor_of,
    json_response,
    listed_after,
    read,
    window_after,
)
from swap_api.model.keys import Scope
from swap_api.model.members import Actor
from swap_contracts.public.errors import ErrorCode

Body = TypeVar("Body", bound=Parameters)
CallBody = TypeVar("CallBody")


@dataclass(frozen=True, slots=True)
class Call(Generic[CallBody]):
    """What a use case is given of a request."""

    ids: Sequence[UUID]  # of the path: one or none
    context: Context
    body: CallBody

    @property
    def id(self) -> UUID:
        """The id of what the path names."""
        (found,) = self.ids
        return found

    @property
    def actor(self) -> Actor:
        return actor_of(self.context)


class ChangeOptions(TypedDict, total=False):
    """What the endpoint of a change has beside its call."""

    scope: Scope
    refuses: Sequence[ErrorCode]
    creates: bool
    shows_secret: bool
    kind: Kind


def read_endpoint(
    path: str,
    operation: str,
    call: Callable[[Call[None]], Awaitable[Row | Sequence[Row]]],
    summary: str,
    answers: Any,
    *,
    scope: Scope = Scope.MEMBER,
    weight: int = 1,
) -> Endpoint:
    async def handle(request: Request, context: Context) -> Response:
        return json_response(await call(Call(_ids(request), context, None)))

    return get_endpoint(
        path, handle, summary, answers, operation=operation, scope=scope, weight=weight
    )


def list_endpoint(
    path: str,
    operation: str,
    call: Callable[[Call[None], Window], Awaitable[Part]],
    summary: str,
    answers: Any,
    *,
    query: type[PageParameters] = PageParameters,
    scope: Scope = Scope.MEMBER,
    refuses: Sequence[ErrorCode] = (),
) -> Endpoint:
    async def handle(request: Request, context: Context) -> Response:
        of_path = Call(_ids(request), context, None)
        parameters = parse_query(query, request.query)
        window = window_after(parameters, getattr(parameters, "starting_after", None))
        return listed_after(request, await call(of_path, window), window)

    return get_endpoint(
        path,
        handle,
        summary,
        answers,
        operation=operation,
        is_paged=True,
        query=query,
        scope=scope,
        refuses=refuses,
    )


def order_endpoint(
    path: str,
    operation: str,
    call: Callable[[Call[None]], Awaitable[Row]],
    summary: str,
    answers: Any,
    **options: Unpack[ChangeOptions],
) -> Endpoint:
    """Return the endpoint of a change that needs no body."""
    is_secret = options.get("shows_secret", False)

    async def handle(request: Request, context: Context) -> Response:
        done = await call(Call(_ids(request), context, None))
        return json_response(done, is_secret=is_secret)

    return post_endpoint(path, handle, summary, answers, operation=operation, **options)


def change_endpoint(
    path: str,
    operation: str,
    call: Callable[[Call[Body]], Awaitable[Row]],
    summary: str,
    answers: Any,
    *,
    body: type[Body],
    **options: Unpack[ChangeOptions],
) -> Endpoint:
    is_secret = options.get("shows_secret", False)

    async def handle(request: Request, context: Context) -> Response:
        ids = _ids(request)  # first: an id that is none is refused before the body
        changed = await call(Call(ids, context, await read(body, request)))
        return json_response(changed, is_secret=is_secret)

    return post_endpoint(path, handle, summary, answers, body, operation=operation, **options)


def _ids(request: Request) -> Sequence[UUID]:
    """
    :raises Invalid: when one is no UUID.
    """
    return [id_of(request, name) for name in request.path_params]
