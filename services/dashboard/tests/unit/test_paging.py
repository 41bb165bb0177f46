"""Links between the pages of a list."""

from __future__ import annotations

import httpx
import pytest
from starlette.requests import Request

from swap_dashboard.adapters.api import send
from swap_dashboard.http.paging import Page, place_of
from swap_dashboard.ports import ApiAnswer

NEXT = '</management/v1/x?page_size=2&starting_after=WzFd>; rel="next"'


async def test_answer_has_the_place_of_its_next_link() -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"data": [], "error": None}, headers={"link": NEXT})

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
        answered = await send(client, "GET", "http://api.test/x")

    assert (answered.has_more, answered.next) == (True, "WzFd")


@pytest.mark.parametrize(
    ("answered", "after"),
    [
        (
            ApiAnswer([{"id": "1"}], None, has_more=True, next="WzFd"),
            "/x?kind=fee&starting_after=WzFd",
        ),
        (ApiAnswer([{"id": "1"}], None, has_more=True), "/x?kind=fee&starting_after=1"),
        (ApiAnswer([{"id": "1"}]), None),
    ],
)
def test_next_page_starts_after_the_named_place_or_the_last_row(
    answered: ApiAnswer, after: str | None
) -> None:
    page = Page.behind("/x", "WzBd", answered, {"kind": "fee"})

    assert (page.before, page.after) == ("/x?kind=fee", after)
    assert Page.behind("/x", "", answered).before is None


@pytest.mark.parametrize(("text", "place"), [("WzFd", "WzFd"), ("a&b", ""), ("x" * 401, "")])
def test_invalid_place_is_ignored(text: str, place: str) -> None:
    query = str(httpx.QueryParams({"starting_after": text})).encode()

    assert place_of(Request({"type": "http", "query_string": query})) == place
