"""A service that ends is restarted at once; repeated ends have growing pauses."""

from __future__ import annotations

from swap_stack.backoff import PAUSES_SECONDS, SETTLED_SECONDS, Backoff


def test_the_first_exit_has_no_pause() -> None:
    backoff = Backoff()
    backoff.record_start(100.0)
    assert backoff.record_exit(101.0) == 0.0
    assert not backoff.is_waiting(101.0)


def test_a_crash_loop_is_slowed_down_to_a_limit() -> None:
    backoff, now = Backoff(), 100.0
    pauses = []
    for _ in range(8):
        backoff.record_start(now)
        pauses.append(backoff.record_exit(now + 0.3))
        now += 0.3 + pauses[-1]
    assert tuple(pauses[: len(PAUSES_SECONDS)]) == PAUSES_SECONDS
    assert pauses[-1] == PAUSES_SECONDS[-1]


def test_backoff_ends_with_the_pause() -> None:
    backoff = Backoff()
    for _ in range(3):
        backoff.record_start(100.0)
        pause = backoff.record_exit(100.0)
    assert backoff.is_waiting(100.0 + pause - 0.01)
    assert not backoff.is_waiting(100.0 + pause)


def test_a_process_with_a_long_uptime_restarts_without_backoff() -> None:
    backoff = Backoff()
    for _ in range(5):
        backoff.record_start(100.0)
        backoff.record_exit(100.1)
    backoff.record_start(200.0)
    assert backoff.record_exit(200.0 + SETTLED_SECONDS) == 0.0
