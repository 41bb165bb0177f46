"""What must hold for every answer, whatever was asked: looked at once everything was."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tests.conformance.target import WITHOUT_BODY, Answer, Target

pytestmark = pytest.mark.whole_run
rule = pytest.mark.rule
SHOWN_AT_MOST = 5
RATE_HEADERS = ("ratelimit-limit", "ratelimit-remaining", "ratelimit-reset")


@pytest.fixture
def answers(target: Target) -> Sequence[Answer]:
    if not target.answers:
        pytest.skip("nothing was asked")
    return target.answers


def are_all(answers: Sequence[Answer], holds: Callable[[Answer], bool]) -> bool:
    """
    :raises AssertionError: naming answers for which it does not hold.
    """
    without = [f"{one.asked[:100]}: {one.status}" for one in answers if not holds(one)]
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
        [one for one in answers if not one.asked.startswith("OPTIONS")],
        lambda one: "access-control-expose-headers" in one.headers,
    )


@rule("D1", "request-ids")
def test_every_answer_has_a_request_id(answers: Sequence[Answer]) -> None:
    assert are_all(answers, lambda one: bool(one.headers.get("x-request-id")))


@rule("D1", "rate-headers")
def test_every_keyed_answer_says_where_the_caller_stands(answers: Sequence[Answer]) -> None:
    # Nobody is counted whose key is unknown, or who asks for what is not there.
    nowhere = (403, 404, 405)
    keyed = [one for one in answers if one.is_keyed and one.status not in nowhere]

    assert are_all(keyed, lambda one: all(name in one.headers for name in RATE_HEADERS))


@rule("D3", "doc-url")
@rule("D3", "sentences")
def test_every_error_is_fit_to_show(answers: Sequence[Answer]) -> None:
    refused = [one for one in answers if one.status >= 400]

    assert are_all(refused, lambda one: bool(one.error["metadata"]["doc_url"]))
    assert are_all(
        refused, lambda one: one.error["message"][:1].isupper() or " " in one.error["message"]
    )
