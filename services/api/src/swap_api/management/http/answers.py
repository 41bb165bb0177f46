"""How the management API answers: one thing, or a part of a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

import orjson
from starlette.responses import Response

from swap_api.http.endpoints import Context
from swap_api.http.paging import page_response
from swap_api.http.parameters import Model, PageParameters, parse_body, parse_query
from swap_api.http.requests import Request
from swap_api.http.responses import NO_STORE, data_response
from swap_api.management.decide.listing import Part, Row, Window
from swap_api.model.members import Actor

PLACE: Final = "starting_after"


def actor_of(context: Context) -> Actor:
    """Return the actor; only endpoints of members and operators have one."""
    assert context.actor is not None
    return context.actor


async def read(model: type[Model], request: Request) -> Model:
    """
    :raises ApiRefusal: when the body does not fit the model.
    """
    return parse_body(model, await request.json_object())[0]


def json_response(content: Row | Sequence[Row], *, is_secret: bool = False) -> Response:
    # A secret is shown once: nothing on the way may store it.
    return data_response(orjson.dumps(content), NO_STORE if is_secret else {})


def window_after(
    parameters: PageParameters, starting_after: UUID | int | str | None = None
) -> Window:
    """Return the part of a list after a row; the page that is named, without one."""
    offset = (parameters.page - 1) * parameters.page_size
    return Window(parameters.page_size, offset, starting_after)


def list_response(request: Request, part: Part) -> Response:
    parameters = parse_query(PageParameters, request.query)
    return page_response(
        request,
        orjson.dumps(list(part.rows)),
        page=parameters.page,
        total=part.total,
        has_more=part.has_more,
    )


def listed_from_place(request: Request, part: Part) -> Response:
    """Answer a part of a list; the link to the next one names a place, unless pages are named."""
    is_by_number = part.has_more and part.next is None  # of a notifier of an earlier version
    if is_by_number or "page" in dict(request.query):
        return list_response(request, part)
    return _listed_with_total(request, part, part.next)


def listed_after(request: Request, part: Part, window: Window) -> Response:
    """Answer a part of a list; one after a row links to the part after its own last row."""
    if window.starting_after is None:
        return list_response(request, part)
    return _listed_with_total(request, part, _last_id(part.rows, has_more=part.has_more))


def listed_without_pages(request: Request, rows: Sequence[Row], *, has_more: bool) -> Response:
    """Answer a part of a list that has no pages, and is not counted."""
    link = _link_behind(request, _last_id(rows, has_more=has_more), (PLACE,))
    return data_response(orjson.dumps(rows), link)


def _listed_with_total(request: Request, part: Part, place: str | None) -> Response:
    link = _link_behind(request, place, ("page", PLACE))
    return data_response(orjson.dumps(list(part.rows)), {"x-total-count": str(part.total), **link})


def _last_id(rows: Sequence[Row], *, has_more: bool) -> str | None:
    return str(rows[-1]["id"]) if has_more else None


def _link_behind(request: Request, place: str | None, replaced: Sequence[str]) -> dict[str, str]:
    """
    :param replaced: the names of the query that the place stands for.
    """
    if place is None:
        return {}
    query = [(name, value) for name, value in request.query if name not in replaced]
    behind = urlencode([*query, (PLACE, place)])
    return {"link": f'<{request.path}?{behind}>; rel="next"'}
