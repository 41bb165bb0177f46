"""The definition of memory growth."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.soak.memory import MEBIBYTE, SAMPLES_MIN, MemorySamples


def samples_of(sizes: Sequence[float]) -> MemorySamples:
    samples = MemorySamples()
    for size in sizes:
        samples.add("api", 1, int(size * MEBIBYTE))
    return samples


@pytest.mark.parametrize(
    ("sizes", "has_grown"),
    [
        pytest.param([100 + n for n in range(90)], True, id="a leak"),
        pytest.param([100] * 60 + [130] * 30, True, id="a late jump"),
        pytest.param([60 + min(n, 30) for n in range(90)], False, id="caches that were filled"),
        pytest.param(
            [100 + 20 * (n % 2) for n in range(90)], False, id="garbage that comes and goes"
        ),
        pytest.param([100] * 89 + [900], False, id="a peak"),
    ],
)
def test_growth_is_the_last_third_against_the_middle_one(
    sizes: Sequence[float], has_grown: bool
) -> None:
    assert bool(samples_of(sizes).problems()) is has_grown


def test_a_process_that_was_restarted_is_not_compared_with_the_one_before() -> None:
    samples = MemorySamples()
    for pid, size in ((1, 50), (2, 100)):
        for _ in range(SAMPLES_MIN):
            samples.add("api", pid, size * MEBIBYTE)

    assert samples.problems() == []


def test_a_short_uptime_is_not_judged() -> None:
    samples = samples_of([100 + n for n in range(SAMPLES_MIN - 1)])

    assert samples.problems() == []
    assert samples.report() == {}


def test_the_report_has_the_thirds_and_their_ratio() -> None:
    report = samples_of([100] * 60 + [105] * 30).report()

    assert report == {"api": {"middle_mib": 100, "last_mib": 105, "ratio": 1.05}}
