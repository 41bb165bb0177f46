"""Wrong queries of a list: the operator reads what the value must be."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from starlette.requests import Request

from swap_runtime.operators.paging import (
    WrongQuery,
    read_limit,
    read_query_moment,
    read_query_uuid,
)


def a_request(**query: str) -> Request:
    return Request({"type": "http", "query_string": urlencode(query).encode()})


@pytest.mark.parametrize("text", ["some", "-1", "1.5", "1" * 19])
def test_a_wrong_limit(text: str) -> None:
    with pytest.raises(WrongQuery, match="limit must be a number of at most 18 digits"):
        read_limit(a_request(limit=text))


@pytest.mark.parametrize(
    "text",
    [
        "yesterday",
        "2026-01-01T00:00:00",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
    ],
)
def test_a_wrong_time(text: str) -> None:
    with pytest.raises(WrongQuery, match="after_at must be a time with a zone"):
        read_query_moment(a_request(after_at=text), "after_at")


def test_a_wrong_id() -> None:
    with pytest.raises(WrongQuery, match="after_id must be an id"):
        read_query_uuid(a_request(after_id="1"), "after_id")


@pytest.mark.parametrize("read", [read_query_moment, read_query_uuid])
def test_a_value_may_be_left_out(read: Callable[[Request, str], object]) -> None:
    assert read(a_request(), "after") is None
