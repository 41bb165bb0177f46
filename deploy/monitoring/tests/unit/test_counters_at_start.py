"""Failure counters in rules start at 0: `increase` and `rate` never count a series' first sample.

Each service initialises its counters at its start, with its networks, routes and sources. `make
test-observability` shows on a running stack that the wiring does so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Final, cast

import pytest
from swap_monitoring.rules import GROUPS

import swap_api.observe
import swap_chain_watcher.observe
import swap_dashboard.console.observe
import swap_dashboard.observe
import swap_notifier.observe  # noqa: F401  # its counters begin with the module
import swap_quoter.observe
import swap_settler.model.observe_changes  # as above
import swap_settler.operator.observe
import swap_settler.paying.observe
from deploy.monitoring.tests.expressions import metrics_of
from deploy.monitoring.tests.metrics import Metric, find_metrics
from swap_chain_watcher.domain.movements import Quarantine
from swap_contracts.topics import DEPOSIT_CHANGED
from swap_domain.lifecycle import Status
from swap_notifier.domain.outcomes import DisabledReason
from swap_runtime.messaging.consuming import Subscriptions, consume
from swap_runtime.process.supervision import SupervisedTask
from swap_runtime.screening import ScreeningService
from swap_runtime.settings import KafkaSettings, ScreeningSettings
from swap_runtime.telemetry import span_export  # noqa: F401  # as above
from swap_runtime.telemetry.metrics import REGISTRY
from swap_settler.model.swap import FailReason

NAME: Final = "zero"  # of a network, a route, a source or a task
TOPIC: Final = DEPOSIT_CHANGED.name
OF_NETWORK: Final = {"network": [NAME]}
# The label values of each failure counter, at the start of its process.
AT_START: Final[Mapping[str, Mapping[str, Sequence[str]]]] = {
    "swap_api_answers": {"route": [NAME], "status": ["500", "503"]},
    "swap_console_service_away": {"name": [NAME]},
    "swap_console_sign_ins": {"outcome": ["done", "failed", "blocked"]},
    "swap_dashboard_pages": {"route": [NAME], "status": ["5xx"]},
    "swap_dashboard_sign_ins": {"outcome": ["done", "failed", "blocked"]},
    "swap_messages_parked": {"topic": [TOPIC]},
    "swap_messages_unverified": {"topic": [TOPIC]},
    "swap_notifier_attempts": {"outcome": ["delivered", "failed", "abandoned"]},
    "swap_notifier_endpoints_disabled": {"reason": list(DisabledReason)},
    "swap_quoter_gas_unknown": OF_NETWORK,
    "swap_quoter_prices_unreadable": {"source": [NAME]},
    "swap_screening": {"answer": ["none", "some"]},
    "swap_settler_failures": {"reason": list(FailReason)},
    "swap_settler_foreign_nonces": OF_NETWORK,
    "swap_settler_lane_waits": OF_NETWORK,
    "swap_settler_loss_budgets_spent": OF_NETWORK,
    "swap_settler_nodes_differ": OF_NETWORK,
    "swap_settler_payments": {
        **OF_NETWORK,
        "outcome": swap_settler.paying.observe.PAYMENT_OUTCOMES,
    },
    "swap_settler_replacements": {
        **OF_NETWORK,
        "act": ["cancelled", "offered_more", "at_cap"],
    },
    "swap_settler_signer_short": OF_NETWORK,
    "swap_settler_slots_unexplained": OF_NETWORK,
    "swap_settler_swaps": {"status": list(Status)},
    "swap_settler_swaps_unsuccessful": {"reason": [*FailReason, "unknown"]},
    "swap_settler_sweeps_refused": OF_NETWORK,
    "swap_spans_dropped": {"reason": ["not delivered", "queue full"]},
    "swap_task_failures": {"task": [NAME]},
    "swap_watch_coins_missing": OF_NETWORK,
    "swap_watch_contradictions": OF_NETWORK,
    "swap_watch_interruptions": OF_NETWORK,
    "swap_watch_missed_movements": OF_NETWORK,
    "swap_watch_node_failures": OF_NETWORK,
    "swap_watch_quarantined": {**OF_NETWORK, "reason": list(Quarantine)},
    "swap_watch_second_look_failures": OF_NETWORK,
    "swap_watch_verification_failures": OF_NETWORK,
}


@pytest.fixture(scope="module", autouse=True)
def _started() -> None:
    """Initialise the counters as the wiring of each service does at its start."""
    swap_api.observe.routes_listed([NAME])
    swap_chain_watcher.observe.networks_listed([NAME])
    swap_dashboard.console.observe.services_listed([NAME])
    swap_dashboard.observe.routes_listed([NAME])
    swap_quoter.observe.networks_listed([NAME])
    swap_quoter.observe.sources_listed([NAME])
    swap_settler.operator.observe.networks_listed([NAME])
    swap_settler.paying.observe.networks_listed([NAME])
    nothing = cast("Any", None)
    SupervisedTask(NAME, nothing, failures_max=1)
    ScreeningService(ScreeningSettings(), nothing)
    consume(
        Subscriptions(KafkaSettings(bootstrap_servers="127.0.0.1:1")),
        DEPOSIT_CHANGED,
        consumer_name=NAME,
        usecase=nothing,
        parking=nothing,
    )


def labelled_counters_of_rules() -> Mapping[str, Metric]:
    named = {name for group in GROUPS for rule in group.rules for name in metrics_of(rule.expr)}
    counters = (one for one in find_metrics() if one.kind == "counter" and one.labels)
    return {one.name: one for one in counters if named & set(one.exposed)}


def test_every_labelled_counter_of_a_rule_is_listed_with_all_its_labels() -> None:
    counters = labelled_counters_of_rules()

    assert set(counters) - set(AT_START) == set()
    assert {name: set(AT_START[name]) for name in counters} == {
        name: set(counter.labels) for name, counter in counters.items()
    }


@pytest.mark.parametrize("name", AT_START)
def test_counter_has_its_series_before_the_first_event(name: str) -> None:
    labels = AT_START[name]
    missing = [
        values
        for values in product(*labels.values())
        if REGISTRY.get_sample_value(f"{name}_total", dict(zip(labels, values, strict=True)))
        is None
    ]

    assert missing == []


def test_depth_of_reorgs_has_its_series_before_the_first_reorg() -> None:
    assert REGISTRY.get_sample_value("swap_watch_reorg_depth_blocks_sum", {"network": NAME}) == 0
