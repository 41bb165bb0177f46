"""The metrics that the code defines, as Prometheus sees them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[3]
SOURCES: Final = ("services/*/src/**/*.py", "libs/*/src/**/*.py", "cli/src/**/*.py")
ENDS: Final = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_count", "_sum")}
# Of the process collector, and of Prometheus itself.
PROCESS: Final = ("process_start_time_seconds", "process_resident_memory_bytes",
                  "process_cpu_seconds_total")  # fmt: skip
SCRAPED: Final = frozenset({"service", "instance", "job"})
COMMENT: Final = "# Alert:"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of the code."""

    name: str  # with the prefix, without the suffix that Prometheus adds
    kind: str
    labels: frozenset[str]
    path: Path
    line: int

    @property
    def exposed(self) -> tuple[str, ...]:
        return tuple(self.name + end for end in ENDS[self.kind])

    @property
    def has_alert(self) -> bool:
        """Return whether a comment right above it explains an alert."""
        lines = self.path.read_text().splitlines()[: self.line - 1]
        above = []
        while lines and lines[-1].startswith("#"):
            above.append(lines.pop())
        return any(line.startswith(COMMENT) for line in above)


def find_metrics() -> Iterator[Metric]:
    """Yield the metrics of all packages.

    :raises ValueError: for a metric with a name or labels that are not literal.
    """
    for pattern in SOURCES:
        for path in sorted(ROOT.glob(pattern)):
            for statement in ast.parse(path.read_text()).body:
                yield from _metrics(statement, path)


@cache
def labels_by_exposed_name() -> Mapping[str, frozenset[str]]:
    """Return the labels of each metric name in Prometheus."""
    known = {
        name: metric.labels | ({"le"} if metric.kind == "histogram" else frozenset())
        for metric in find_metrics()
        for name in metric.exposed
    }
    return {**known, **dict.fromkeys(PROCESS, frozenset())}


def _metrics(statement: ast.stmt, path: Path) -> Iterator[Metric]:
    value = getattr(statement, "value", None)
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or not isinstance(value, ast.Call):
        return
    kind = getattr(value.func, "id", "")
    if kind not in ENDS:
        return
    name, _, *rest = (ast.literal_eval(each) for each in value.args)
    labels = rest[0] if rest else ()
    yield Metric(f"swap_{name}", kind, frozenset(labels), path, statement.lineno)
