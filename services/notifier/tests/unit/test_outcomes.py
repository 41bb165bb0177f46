from __future__ import annotations

from datetime import timedelta

import pytest

from services.notifier.tests.factories import NOW, a_claim, an_answer
from swap_notifier.domain.outcomes import DisabledReason, State, outcome_of
from swap_notifier.domain.schedule import JITTER_PPM_MAX, PAUSES, pause_after

SECONDS = [5, 300, 1800, 7200, 18000, 36000, 36000]


class TestPauseAfter:
    def test_follows_the_schedule(self) -> None:
        pauses = [pause_after(n, retry_after=None, jitter_ppm=0) for n in range(1, 9)]

        assert pauses == [*(timedelta(seconds=s) for s in SECONDS), None]

    @pytest.mark.fault("N1")
    def test_n1_is_extended_by_up_to_a_fifth(self) -> None:
        pause = pause_after(2, retry_after=None, jitter_ppm=JITTER_PPM_MAX)

        assert pause == timedelta(minutes=6)

    @pytest.mark.parametrize(
        ("requested_seconds", "pause_seconds"),
        [(0, 300), (100, 300), (400, 400), (600, 600), (100_000, 600)],
    )
    @pytest.mark.fault("N15")
    def test_n15_gives_a_receiver_up_to_twice_the_time(
        self, requested_seconds: int, pause_seconds: int
    ) -> None:
        pause = pause_after(2, retry_after=timedelta(seconds=requested_seconds), jitter_ppm=0)

        assert pause == timedelta(seconds=pause_seconds)


class TestOutcomeOf:
    @pytest.mark.parametrize("status", [200, 201, 204, 299])
    def test_takes_any_2xx_for_delivered(self, status: int) -> None:
        outcome = outcome_of(a_claim(), an_answer(status), at=NOW, jitter_ppm=0)

        assert outcome.state is State.DELIVERED
        assert outcome.attempts == 1

    @pytest.mark.parametrize("status", [None, 100, 301, 302, 400, 404, 429, 500, 503])
    def test_retries_every_other_status(self, status: int | None) -> None:
        outcome = outcome_of(a_claim(), an_answer(status), at=NOW, jitter_ppm=0)

        assert outcome.state is State.WAITING
        assert outcome.due_at == NOW + PAUSES[0]
        assert outcome.disables is None

    def test_abandons_after_the_last_attempt(self) -> None:
        before = a_claim(attempts=len(PAUSES))

        assert outcome_of(before, an_answer(500), at=NOW, jitter_ppm=0).state is State.FAILED

    @pytest.mark.parametrize(("status", "is_honoured"), [(429, True), (503, True), (500, False)])
    def test_honours_retry_after_of_429_and_503(self, status: int, *, is_honoured: bool) -> None:
        answer = an_answer(status, retry_after=timedelta(seconds=9))

        outcome = outcome_of(a_claim(), answer, at=NOW, jitter_ppm=0)

        assert outcome.due_at == NOW + timedelta(seconds=9 if is_honoured else 5)

    @pytest.mark.fault("N15")
    def test_n15_disables_an_endpoint_that_answers_gone(self) -> None:
        outcome = outcome_of(a_claim(), an_answer(410), at=NOW, jitter_ppm=0)

        assert (outcome.state, outcome.disables) == (State.FAILED, DisabledReason.GONE)

    @pytest.mark.parametrize(
        ("days", "disables"), [(4, None), (5, DisabledReason.FAILING), (6, DisabledReason.FAILING)]
    )
    def test_disables_an_endpoint_that_only_failed_for_five_days(
        self, days: int, disables: DisabledReason | None
    ) -> None:
        claimed = a_claim(failing_since=NOW - timedelta(days=days))

        assert outcome_of(claimed, an_answer(500), at=NOW, jitter_ppm=0).disables is disables
        assert outcome_of(claimed, an_answer(200), at=NOW, jitter_ppm=0).disables is None
