"""The names in an expression of PromQL, as far as tests need them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from deploy.monitoring.tests.metrics import SCRAPED

METRIC: Final = re.compile(r"(?<![:\w])(?:swap|process)_[a-z0-9_]+\b")
SELECTOR: Final = re.compile(r"\b((?:swap|process)_[a-z0-9_]+)\{([^}]*)\}")
GROUPED: Final = re.compile(r"\bby \(([^)]*)\)")


def metrics_of(expr: str) -> list[str]:
    """Return the names of metrics in an expression, without quoted texts."""
    return METRIC.findall(re.sub(r'"[^"]*"', "", expr))


def labels_kept_by(expr: str) -> set[str]:
    """Return the labels by which an expression groups."""
    return {label.strip() for by in GROUPED.findall(expr) for label in by.split(",")}


def faults(expr: str, known: Mapping[str, frozenset[str]]) -> list[str]:
    """Return the names in an expression that the code does not define."""
    names = metrics_of(expr)
    found = [f"no metric {name}" for name in names if name not in known]
    found += [
        f"{name} has no label {label}"
        for name, matchers in SELECTOR.findall(expr)
        for label in re.findall(r"(\w+)\s*[=!]", matchers)
        if label not in known.get(name, frozenset()) | SCRAPED
    ]
    found += [
        f"{label} is a label of none of {names}"
        for label in labels_kept_by(expr) - SCRAPED
        if not any(label in known.get(name, ()) for name in names)
    ]
    return found
