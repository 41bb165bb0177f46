"""Pages of the lists that operators read below `/admin`.

A page is named by `limit` and by the place after which it begins. `next` in the answer is the place
of the following page, and null on the last one. The client repeats the filters and the limit.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import wraps
from typing import Any, Final, TypeVar
from uuid import UUID

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

LISTED_MAX: Final = 1000
DIGITS_MAX: Final = 18  # every such number is a bigint

Id = TypeVar("Id")
Row = TypeVar("Row")
Read = Callable[[Any, Request], Awaitable[Response]]


class WrongQuery(ValueError):
    """The query of a list has a wrong value. The text is shown to the operator."""


def read_limit(request: Request, *, largest: int = LISTED_MAX) -> int:
    """Return how many rows a page has.

    :raises WrongQuery: when it is no number.
    """
    limit = read_query_number(request, "limit")
    return largest if limit is None else min(max(limit, 1), largest)


def read_query_number(request: Request, name: str) -> int | None:
    """
    :raises WrongQuery: when it is no number, or too large for a row.
    """
    text = request.query_params.get(name, "")
    if not text:
        return None
    number = read_number(text)
    if number is None:
        raise WrongQuery(f"{name} must be a number of at most {DIGITS_MAX} digits")
    return number


def read_number(text: str) -> int | None:
    """Return the number in the text of a request; None when it is none, or too large for a row."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= DIGITS_MAX
    return int(text) if is_number else None


def read_query_moment(request: Request, name: str) -> datetime | None:
    """
    :raises WrongQuery: when it is no time with a zone.
    """
    text = request.query_params.get(name, "")
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        in_utc = moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:  # outside the years 1 to 9999 in UTC
        raise WrongQuery(f"{name} must be a time with a zone") from error
    if moment.tzinfo is None:
        raise WrongQuery(f"{name} must be a time with a zone")
    return in_utc


def read_query_uuid(request: Request, name: str) -> UUID | None:
    """
    :raises WrongQuery: when it is no id.
    """
    text = request.query_params.get(name, "")
    try:
        return UUID(text) if text else None
    except ValueError as error:
        raise WrongQuery(f"{name} must be an id") from error


def read_place(
    request: Request, read_id: Callable[[Request, str], Id | None]
) -> tuple[datetime, Id] | None:
    """Return `after_at` and `after_id`, the place in a list by time; None on its first page.

    :param read_id: reads the id of the list's rows.
    :raises WrongQuery: when one of them is wrong or missing.
    """
    at, id = read_query_moment(request, "after_at"), read_id(request, "after_id")
    if at is None and id is None:
        return None
    if at is None or id is None:
        raise WrongQuery("after_at and after_id are one place")
    return at, id


def answer_page(
    name: str,
    found: Sequence[Row],
    *,
    limit: int,
    show: Callable[[Row], Mapping[str, Any]],
    place: Callable[[Row], Mapping[str, str]],
    further_members: Mapping[str, Any] | None = None,
) -> Response:
    """Answer a page.

    :param found: up to one row more than the page has, which says that more follow.
    :param place: the query that names the place of a row.
    :param further_members: of the answer, on each page.
    """
    rows = found[:limit]
    following = place(rows[-1]) if len(found) > limit else None
    shown = [show(row) for row in rows]
    return JSONResponse({**(further_members or {}), name: shown, "next": following})


def answers_wrong_queries(read: Read) -> Read:
    """Answer a wrong query of a list with 400 and the text of the error."""

    @wraps(read)
    async def answer(self: Any, request: Request) -> Response:
        try:
            return await read(self, request)
        except WrongQuery as error:
            return JSONResponse({"error": str(error)}, status_code=400)

    return answer
