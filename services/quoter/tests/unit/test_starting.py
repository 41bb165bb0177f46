"""A quoter that has just been started refuses nobody: it is not there yet."""

from __future__ import annotations

from http import HTTPStatus

from swap_contracts.public.errors import ErrorCode
from swap_contracts.quoting import Refusal
from swap_quoter.http.starting import once_known


def test_is_away_until_the_market_is_known_and_answers_from_then_on() -> None:
    known: list[str] = []
    answer = once_known(lambda *_: (HTTPStatus.OK, b"a price"), lambda: bool(known))

    status, body = answer("POST", "/quote", b"{}")
    known.append("prices")
    then = answer("POST", "/quote", b"{}")

    assert status == HTTPStatus.SERVICE_UNAVAILABLE
    assert Refusal.model_validate_json(body).code == ErrorCode.SERVICE_UNAVAILABLE
    assert then == (HTTPStatus.OK, b"a price")
