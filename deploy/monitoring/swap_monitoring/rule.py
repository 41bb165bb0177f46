"""What an alert is, and the expressions that several of them share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# Where the pages of docs/runbooks are published. A fork that publishes them changes this line.
RUNBOOKS: Final = "https://docs.swap.example/runbooks"


class Severity(StrEnum):
    """Who is needed, and when."""

    CRITICAL = "critical"  # someone now, at night too
    WARNING = "warning"  # someone within the working day


@dataclass(frozen=True, slots=True)
class Alert:
    """One alerting rule. Its runbook is the section of its name in the page of its group."""

    name: str
    expr: str
    severity: Severity
    summary: str
    after: str = "0m"  # how long the expression holds before the alert fires

    def runbook_url(self, page: str) -> str:
        return f"{RUNBOOKS}/{page}.md#{self.name.lower()}"


@dataclass(frozen=True, slots=True)
class Recording:
    """One recording rule."""

    name: str
    expr: str


@dataclass(frozen=True, slots=True)
class Group:
    """Rules of one subject; `page` is the runbook of its alerts."""

    name: str
    page: str
    rules: tuple[Alert | Recording, ...]

    @property
    def alerts(self) -> tuple[Alert, ...]:
        return tuple(rule for rule in self.rules if isinstance(rule, Alert))


def critical(name: str, expr: str, summary: str, *, after: str = "0m") -> Alert:
    return Alert(name, expr, Severity.CRITICAL, summary, after)


def warning(name: str, expr: str, summary: str, *, after: str = "0m") -> Alert:
    return Alert(name, expr, Severity.WARNING, summary, after)


def counted_recently(counter: str, *, by: str, within: str = "15m") -> str:
    """Return an expression that is true while a counter counted something recently.

    `increase` alone does not see the first event: a series with labels begins at 1.
    """
    first = f"({counter} > 0 unless {counter} offset {within})"
    return f"sum by ({by}) (increase({counter}[{within}]) > 0 or {first})"


def keeps_counting(counter: str, *, by: str, within: str = "10m") -> str:
    """Return an expression that is true while a counter goes on counting."""
    return f"sum by ({by}) (increase({counter}[{within}])) > 0"
