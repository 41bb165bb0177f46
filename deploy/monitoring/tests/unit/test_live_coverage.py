"""The alerts that `make test-observability` causes: an omission needs a reason."""

from __future__ import annotations

import re
from typing import Final

from swap_monitoring.dashboards import DASHBOARDS
from swap_monitoring.rules import GROUPS

from deploy.monitoring.tests.cases import CASES
from deploy.monitoring.tests.metrics import labels_by_exposed_name
from tests.observability.coverage import (
    CAUSED,
    NOT_CAUSED,
    OPTIONAL_COUNTERS,
    PENDING,
    WITHOUT_DATA,
)
from tests.observability.monitoring import shortened_rules

SOON_SECONDS: Final = 120
SECONDS: Final = {"s": 1, "m": 60, "h": 3600}
AFTER: Final = {alert.name: alert.after for group in GROUPS for alert in group.alerts}


def seconds(duration: str) -> int:
    return int(duration[:-1]) * SECONDS[duration[-1]]


def test_alerts_that_fire_soon_are_caused_or_have_a_reason() -> None:
    soon = {name for name, after in AFTER.items() if seconds(after) < SOON_SECONDS}

    assert soon - CAUSED - set(NOT_CAUSED) == set()
    assert CAUSED & set(NOT_CAUSED) == set()
    assert (CAUSED | set(NOT_CAUSED) | PENDING) - set(AFTER) == set()
    assert PENDING & (soon | CAUSED) == set()


def test_alerts_that_are_not_caused_have_a_promtool_case() -> None:
    assert set(AFTER) - CAUSED - {case.alert for case in CASES} == set()


def test_exceptions_name_existing_queries_and_counters() -> None:
    queries = "\n".join(query.expr for board in DASHBOARDS for query in board.queries)

    assert {name for name in WITHOUT_DATA if name not in queries} == set()
    assert set(OPTIONAL_COUNTERS) - set(labels_by_exposed_name()) == set()


def test_only_offsets_of_rules_are_shortened() -> None:
    rules = shortened_rules()

    assert "for: 15m" in rules
    assert re.findall(r"offset \d+m", rules) == []
    assert "offset 150s" in rules
