"""Rules for every answer of the run, checked after all requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from tests.conformance.target import WITHOUT_BODY, Answer, Target

pytestmark = pytest.mark.whole_run
rule = pytest.mark.rule
SHOWN_AT_MOST = 5
SENTENCE_MAX = 200
INVALID = "VALIDATION_ERROR"
RATE_HEADERS = ("ratelimit-limit", "ratelimit-remaining", "ratelimit-reset")


@pytest.fixture
def answers(target: Target) -> Sequence[Answer]:
    if not target.answers:
        pytest.skip("nothing was asked")
    return target.answers


def are_all(answers: Sequence[Answer], holds: Callable[[Answer], bool]) -> bool:
    """
    :raises AssertionError: with the answers that break the rule.
    """
    without = [f"{one.request[:100]}: {one.status}" for one in answers if not holds(one)]
    assert not without, f"{len(without)} of {len(answers)}: {without[:SHOWN_AT_MOST]}"
    return True


@rule("D1", "envelope")
def test_every_answer_is_in_the_envelope(answers: Sequence[Answer]) -> None:
    assert are_all(answers, lambda one: one.is_enveloped)
    with_body = [one for one in answers if one.status not in WITHOUT_BODY]
    assert are_all(
        with_body, lambda one: one.headers["content-type"].startswith("application/json")
    )


@rule("D1", "cors-headers")
def test_every_answer_may_be_read_by_web_pages(answers: Sequence[Answer]) -> None:
    assert are_all(answers, lambda one: "access-control-allow-origin" in one.headers)
    assert are_all(
        [one for one in answers if not one.request.startswith("OPTIONS")],
        lambda one: "access-control-expose-headers" in one.headers,
    )


@rule("D1", "request-ids")
def test_every_answer_has_a_request_id(answers: Sequence[Answer]) -> None:
    assert are_all(answers, lambda one: bool(one.headers.get("x-request-id")))


@rule("D1", "rate-headers")
def test_every_keyed_answer_has_the_callers_rate_limit(answers: Sequence[Answer]) -> None:
    keyed = [one for one in answers if one.is_keyed and not is_strange(one)]

    assert are_all(keyed, lambda one: all(name in one.headers for name in RATE_HEADERS))


def is_strange(answer: Answer) -> bool:
    """Return whether the caller is not counted: its key is unknown, or not one of this address."""
    if answer.request.partition(" ")[2].startswith("/management/"):
        return True
    is_closed = answer.key in ("revoked", "expired", "closing")
    return is_closed and answer.status in (403, 404, 405)


@rule("D3", "no-failures")
def test_no_request_fails_with_a_server_error(answers: Sequence[Answer]) -> None:
    def is_meant(answer: Answer) -> bool:
        return answer.status < 500 or answer.error["code"] == "PAYOUTS_PAUSED"

    assert are_all(answers, is_meant)


@rule("D3", "doc-url")
def test_every_error_has_a_page(answers: Sequence[Answer]) -> None:
    refused = [one for one in answers if one.status >= 400]

    assert are_all(refused, lambda one: bool(one.error["metadata"]["doc_url"]))


@rule("D3", "sentences")
def test_every_error_is_a_sentence_fit_to_show(answers: Sequence[Answer]) -> None:
    assert are_all([one for one in answers if one.status >= 400], is_sentence)


def is_sentence(answer: Answer) -> bool:
    """Return whether a message can be shown to a user: a sentence, without code or dump."""
    error = answer.error
    words, fields = error["message"], error["metadata"].get("field_errors", {})
    begins = words[:1].isupper() or any(words.startswith(field) for field in fields)
    is_plain = words.isprintable() and not set(words) & set("{}[]<>\\")
    return begins and is_plain and " " in words and len(words) <= SENTENCE_MAX


@rule("D3", "names-fields")
def test_the_message_of_a_validation_error_names_the_field(answers: Sequence[Answer]) -> None:
    refusals = [one for one in answers if one.status >= 400 and "field_errors" in metadata_of(one)]
    invalid = [one for one in answers if one.status == 400 and code_of(one) == INVALID]

    assert are_all([one for one in refusals if code_of(one) == INVALID], names_field)
    assert are_all(refusals, lambda one: all(metadata_of(one)["field_errors"].values()))
    # A body that is no JSON object has no fields.
    assert are_all(invalid, lambda one: one in refusals or "body" in one.error["message"])


def names_field(answer: Answer) -> bool:
    return any(field in answer.error["message"] for field in metadata_of(answer)["field_errors"])


def code_of(answer: Answer) -> str:
    return str(answer.error["code"])


def metadata_of(answer: Answer) -> Mapping[str, Any]:
    return dict(answer.error["metadata"])
