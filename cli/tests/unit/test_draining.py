"""A network is drained only when no swap was open for some seconds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from swapctl.draining import CONFIRMATION_SECONDS, wait_for_end


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def drained(clock: Clock, open_at: Callable[[float], int], *, wait: float) -> int:
    """Wait for a network with the given numbers of open swaps after the given seconds."""
    begin = clock.now
    return wait_for_end(
        lambda: open_at(clock.now - begin), wait=wait, monotonic=clock, sleep=clock.sleep
    )


def test_an_empty_network_is_confirmed_after_some_seconds() -> None:
    clock = Clock()

    assert drained(clock, lambda _: 0, wait=0) == 0

    assert clock.now == 1000 + CONFIRMATION_SECONDS


@pytest.mark.parametrize("appears_after", [0.5, 1, 4, 5])
def test_a_swap_that_appears_after_the_first_count_extends_the_wait(appears_after: float) -> None:
    clock = Clock()

    assert drained(clock, lambda after: int(appears_after <= after < 20), wait=60) == 0

    assert clock.now >= 1000 + 20 + CONFIRMATION_SECONDS


def test_swaps_that_do_not_end_are_counted_at_the_deadline() -> None:
    clock = Clock()

    assert drained(clock, lambda _: 3, wait=10) == 3

    assert clock.now == 1000 + 10


def test_a_swap_that_appears_after_the_deadline_is_open() -> None:
    assert drained(Clock(), lambda after: int(after >= 2), wait=1) == 1


def test_a_slow_count_does_not_shorten_the_confirmation() -> None:
    clock, counts = Clock(), []

    def count() -> int:
        counts.append(clock.now)
        clock.now += CONFIRMATION_SECONDS
        return 0

    assert wait_for_end(count, wait=0, monotonic=clock, sleep=clock.sleep) == 0
    assert counts[-1] - (counts[0] + CONFIRMATION_SECONDS) >= CONFIRMATION_SECONDS
