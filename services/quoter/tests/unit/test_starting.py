"""A quoter that has just started answers with a retryable error."""

from __future__ import annotations

from http import HTTPStatus

from services.quoter.tests.unit.test_http import an_app, answer
from swap_contracts.public.errors import ErrorCode
from swap_contracts.quoting import Refusal


def test_requests_are_answered_with_503_until_the_market_is_known() -> None:
    known: list[str] = []
    app = an_app(is_known=lambda: bool(known))

    status, body = answer(app, "GET", "/prices")
    known.append("prices")
    then, _ = answer(app, "GET", "/prices")

    assert status == HTTPStatus.SERVICE_UNAVAILABLE
    assert Refusal.model_validate_json(body).code == ErrorCode.SERVICE_UNAVAILABLE
    assert then == HTTPStatus.OK
