"""Distributions as three numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """The time within which 50, 95 and 99 percent of the samples ended, in seconds."""

    p50: float
    p95: float
    p99: float
    samples: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread | None:
        if not values:
            return None
        ordered = sorted(values)
        p50, p95, p99 = (percentile(ordered, part) for part in (50, 95, 99))
        return cls(p50, p95, p99, len(ordered))


def percentile(ordered: Sequence[float], part: int) -> float:
    return ordered[min(len(ordered) * part // 100, len(ordered) - 1)]


def median(values: Sequence[float]) -> float:
    return percentile(sorted(values), 50)
