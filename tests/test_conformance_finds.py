"""The conformance suite finds every kind of deviation, in constructed answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.conformance.settings import Settings
from tests.conformance.shapes import fault, field_fault, unknown_members
from tests.conformance.tables import fields_of
from tests.conformance.target import NotConforming, Target

HEALTH = {"data": {"status": "ok"}, "error": None}
REFUSAL = {
    "data": None,
    "error": {"code": "NOT_FOUND", "message": "Nothing", "metadata": {"request_id": "1"}},
}


def answering(status: int, content: Any) -> tuple[Target, Any]:
    """Return a deployment that always returns one answer, and that answer."""

    def answer(_: httpx.Request) -> httpx.Response:
        if isinstance(content, bytes):
            return httpx.Response(status, content=content)
        return httpx.Response(status, json=content)

    http = httpx.Client(base_url="https://swaps.example", transport=httpx.MockTransport(answer))
    target = Target(Settings("https://swaps.example", {"secret": "key"}), http)
    return target, target.ask("GET", "/api/v2/health")


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        ("double", 0.5, "0.5"),
        ("double", 1, True),
        ("int32", 2**31 - 1, 2**31),
        ("int32", 1, 1.0),
        ("int64", 2**53, "9007199254740992"),
        ("boolean", False, 0),
        ("string", "", None),
        ("digits", "100", "0100"),
        ("digits", "0", 0),
        ("duration", "00:01:30.5", "90"),
        ("date-time", "2026-01-31T12:00:00.5Z", "2026-01-31T12:00:00"),
        ("date-time", "2026-01-31T12:00:00+00:00", "2026-01-31"),
        ("uuid4", "6f0e7a52-5a07-4d5a-9f0e-0f5b7b2a9c11", "6f0e7a52-5a07-1d5a-9f0e-0f5b7b2a9c11"),
        ("SwapStatus", "pending_refund", "refund_pending"),
        ("[string]", ["a"], ["a", None]),
        ("[string]", [], None),
        ("TokenModel", {}, []),
    ],
)
def test_values_of_another_type(kind: str, right: Any, wrong: Any) -> None:
    assert fault(kind, right) is None
    assert fault(kind, wrong)


def test_members_that_are_absent_null_or_unknown() -> None:
    field = fields_of("Limits")["min_amount"]

    assert field_fault(field, {"min_amount": 1.5}) is None
    assert field_fault(field, {}) == "is absent"
    assert field_fault(field, {"min_amount": None}) == "is null"
    assert field_fault(fields_of("SwapModel")["fail_reason"], {"fail_reason": None}) is None
    assert unknown_members("Limits", {"min_amount": 1, "colour": "blue"}) == {"colour"}


def test_objects_inside_of_others() -> None:
    target, _ = answering(200, HEALTH)
    target.observed.add("[DetailedQuote]", [{"path": [{"order": "1"}]}], "here")

    [sample] = target.observed.of("DetailedQuotePath")
    assert sample.where == "here[0].path[0]"
    assert field_fault(fields_of("DetailedQuotePath")["order"], sample.instance)


@pytest.mark.parametrize(
    ("status", "content", "is_right"),
    [
        (200, HEALTH, True),
        (404, REFUSAL, True),
        (200, {"status": "ok"}, False),
        (200, {**HEALTH, "ok": True}, False),
        (200, [], False),
        (200, REFUSAL, False),
        (404, HEALTH, False),
        (500, b"Internal Server Error", False),
        (204, b"", True),
    ],
)
def test_answer_outside_the_envelope_is_detected(status: int, content: Any, is_right: bool) -> None:
    _, answer = answering(status, content)

    assert answer.is_enveloped is is_right


@pytest.mark.parametrize(
    ("status", "look"),
    [
        (404, lambda answer: answer.refuses("VALIDATION_ERROR")),
        (400, lambda answer: answer.refuses("NOT_FOUND")),
        (404, lambda answer: answer.data),
    ],
)
def test_refusals_with_another_code_or_status(status: int, look: Callable[[Any], Any]) -> None:
    _, answer = answering(status, REFUSAL)

    with pytest.raises(NotConforming):
        look(answer)


def test_successes_where_a_refusal_is_due() -> None:
    _, answer = answering(200, HEALTH)

    with pytest.raises(NotConforming, match="is no refusal"):
        answer.refuses("NOT_FOUND")
