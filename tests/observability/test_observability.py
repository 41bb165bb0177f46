"""Alerts fire and end, and dashboards show data: real servers beside a stack with faults.

The tests depend on each other and run in this order: the stack is new in the first, and used in the
last.
"""

from __future__ import annotations

from typing import Final

from swap_monitoring.dashboards import DASHBOARDS
from swap_monitoring.rules import GROUPS

from deploy.monitoring.tests.expressions import metrics_of
from deploy.monitoring.tests.metrics import find_metrics
from tests.e2e.outside import Outside
from tests.observability.coverage import CAUSED, OPTIONAL_COUNTERS, PENDING, WITHOUT_DATA
from tests.observability.faults import cause_all
from tests.observability.monitoring import Monitoring
from tests.observability.traffic import traffic
from tests.plugins.stack import Stack
from tests.support.waiting import until

RATE_INTERVAL: Final = "1m"
# Gauges of backlogs and signers are measured every few seconds, invariants by one settler.
DATA_WITHIN_SECONDS: Final = 180


async def test_counters_of_failures_have_series_before_the_first_failure(
    stack: Stack, monitoring: Monitoring
) -> None:
    await stack.ready()
    named = {name for group in GROUPS for rule in group.rules for name in metrics_of(rule.expr)}
    counters = {
        name
        for metric in find_metrics()
        if metric.kind == "counter"
        for name in metric.exposed
        if name in named
    }

    async def missing() -> set[str]:
        return {name for name in counters if not await monitoring.has_data(name)}

    async def only_optional_ones_are_missing() -> bool:
        return await missing() <= set(OPTIONAL_COUNTERS)

    assert len(counters) > 20
    await until(only_optional_ones_are_missing, what=f"series of {await missing()}", every=2)


async def test_every_query_of_every_dashboard_has_data(
    stack: Stack, outside: Outside, monitoring: Monitoring
) -> None:
    queries = {
        query.expr: f"{board.uid}: {query.expr}" for board in DASHBOARDS for query in board.queries
    }
    open_queries = {
        expr: shown
        for expr, shown in queries.items()
        if not any(name in expr for name in WITHOUT_DATA)
    }

    async def all_have_data() -> bool:
        for expr in list(open_queries):
            if await monitoring.has_data(expr.replace("$__rate_interval", RATE_INTERVAL)):
                del open_queries[expr]
        return not open_queries

    async with traffic(stack, outside):
        try:
            await until(
                all_have_data, what="data of all queries", within=DATA_WITHIN_SECONDS, every=2
            )
        except AssertionError:
            raise AssertionError("no data:\n" + "\n".join(sorted(open_queries.values()))) from None


async def test_alerts_that_can_be_caused_fire_and_end(
    stack: Stack, outside: Outside, monitoring: Monitoring
) -> None:
    await monitoring.end(CAUSED)  # none of them fires before

    failed = await cause_all(stack, outside, monitoring)
    await monitoring.end(CAUSED)
    await monitoring.until_resolved(PENDING)

    assert failed == []
    assert CAUSED - monitoring.notifications.fired == set()
