"""A case of an alert, and the cases that many alerts share.

Series are in promtool's notation, one value a minute: `0x9 3x20` is ten times 0, then 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Case:
    """One alert that fires once. It does not fire a minute before the start or at the end."""

    alert: str
    series: Mapping[str, str]
    fires: int  # minute
    ends: int  # minute
    summary: str
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.alert


BASE: Final = {"network": "base"}
SETTLER: Final = {"service": "settler"}
NOTIFIER: Final = {"service": "notifier"}


def gauge(alert: str, metric: str, value: str, *, after: int, summary: str, **labels: str) -> Case:
    """Return the case of a gauge that has a bad value from minute 10 to minute 39."""
    named = f"swap_{metric}{_selector(labels)}"
    series = {named: f"0x9 {value}x29 0x60"}
    return Case(alert, series, 10 + after, 40, summary, labels)


def event(alert: str, metric: str, *, after: int = 0, summary: str, **labels: str) -> Case:
    """Return the case of a counter with labels that counts its first event in minute 10."""
    series = {f"swap_{metric}_total{_selector(labels)}": "_x10 1x90"}
    left = {k: v for k, v in labels.items() if k not in ("act", "topic")}
    return Case(alert, series, 10 + after, 40, summary, left)


def growth(alert: str, metric: str, *, after: int, summary: str, **labels: str) -> Case:
    """Return the case of a counter that increases by one a minute from minute 10 to minute 130."""
    series = {f"swap_{metric}_total{_selector(labels)}": "0x9 1+1x120 121x120"}
    left = {k: v for k, v in labels.items() if k not in ("answer",)}
    return Case(alert, series, 10 + after, 240, summary, left)


def _selector(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels.items()) + "}"
