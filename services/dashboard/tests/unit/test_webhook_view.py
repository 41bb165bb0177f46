"""What a message's page says of its attempts, and of what follows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from swap_dashboard.http.webhook_view import (
    ATTEMPTS_MAX,
    ATTEMPTS_SHOWN_MAX,
    FAILING_MAX,
    FIRST,
    LISTENER_URL,
    OLDEST_SHOWN,
    PAUSES,
    RESENT,
    RETRY,
    attempts_of,
    disabled_from,
    first_delivery,
    plan_of,
    with_both_families,
)
from swap_dashboard.http.webhooks import hours_of
from swap_notifier.adapters import statements
from swap_notifier.domain import endpoints, outcomes, schedule

DUE = datetime(2026, 1, 1, tzinfo=UTC)


def an_attempt(attempt: int, status: int | None, at: str = "2026-01-01T00:00:00Z") -> Any:
    return {"attempt": attempt, "http_status": status, "at": at, "request_headers": {}}


def a_message(attempts: int, *, state: str = "waiting", is_under_way: bool = False) -> Any:
    return {"state": state, "attempts": attempts, "due_at": DUE, "is_under_way": is_under_way}


def test_retry_schedule_equals_the_notifiers() -> None:
    assert (PAUSES, FAILING_MAX) == (schedule.PAUSES, outcomes.FAILING_MAX)


def test_log_limit_and_listener_url_equal_the_notifiers() -> None:
    assert (ATTEMPTS_SHOWN_MAX, LISTENER_URL) == (
        statements.ATTEMPTS_SHOWN_MAX,
        endpoints.LISTENER_URL,
    )


class TestPlans:
    def test_name_the_next_attempt_and_the_last_one(self) -> None:
        plan = plan_of(a_message(6))

        assert plan is not None
        assert (plan.next_at, plan.left, plan.is_last) == (DUE, 2, False)
        assert plan.last_at == DUE + timedelta(hours=10)

    def test_say_that_no_other_attempt_follows(self) -> None:
        plan = plan_of(a_message(ATTEMPTS_MAX - 1))

        assert plan is not None
        assert plan.is_last
        assert plan.last_at == DUE

    @pytest.mark.parametrize(
        ("state", "attempts"), [("waiting", 0), ("delivered", 1), ("failed", ATTEMPTS_MAX)]
    )
    def test_exist_only_after_a_failed_attempt(self, state: str, attempts: int) -> None:
        assert plan_of(a_message(attempts, state=state)) is None

    def test_name_no_time_while_an_attempt_is_under_way(self) -> None:
        assert plan_of(a_message(2)) is not None
        assert plan_of(a_message(2, is_under_way=True)) is None


class TestAttempts:
    def test_have_causes_and_are_sorted_newest_first(self) -> None:
        log = [an_attempt(1, 500), an_attempt(2, 200), an_attempt(1, 200)]

        assert [one["cause"] for one in attempts_of(log)] == [RESENT, RETRY, FIRST]

    def test_have_svix_and_webhook_headers(self) -> None:
        sent = {"webhook-id": "msg_1", "webhook-signature": "v1,a", "accept": "*/*"}

        assert with_both_families(sent) == {
            **sent,
            "svix-id": "msg_1",
            "svix-signature": "v1,a",
        }
        assert with_both_families({}) == {}

    def test_resend_does_not_change_the_first_delivery(self) -> None:
        log = [an_attempt(1, None), an_attempt(2, 204, "first"), an_attempt(1, 200, "again")]

        assert first_delivery(log) == "first"
        assert first_delivery(log[:1]) is None

    def test_cut_log_has_no_first_attempt(self) -> None:
        log = [an_attempt(1, 200)] * ATTEMPTS_SHOWN_MAX

        assert [one["cause"] for one in attempts_of(log)][-2:] == [RESENT, OLDEST_SHOWN]
        assert first_delivery(log) is None
        assert [one["cause"] for one in attempts_of(log[1:])][-2:] == [RESENT, FIRST]
        assert first_delivery(log[1:]) is not None


def test_an_endpoint_is_disabled_after_days_of_failures() -> None:
    assert disabled_from({"failing_since": "2026-01-01T00:00:00Z"}) == DUE + FAILING_MAX
    assert disabled_from({"failing_since": None}) is None


def test_links_of_hours_begin_where_their_numbers_do() -> None:
    figures = [{"endpoint_id": "one", "since": "2026-01-01T10:20:30Z", "hours": []}]

    hours = hours_of("/webhooks/one", "one", figures)

    assert [hour["link"] for hour in hours[:2]] == [
        "/webhooks/one?since=2026-01-01T10%3A20%3A30&until=2026-01-01T11%3A00%3A00",
        "/webhooks/one?since=2026-01-01T11%3A00%3A00&until=2026-01-01T12%3A00%3A00",
    ]
    assert [hour["at"] for hour in hours[:2]] == ["2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z"]
