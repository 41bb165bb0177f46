"""All rules, as Prometheus reads them from a file and as the Prometheus operator takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import yaml

from swap_monitoring import objectives
from swap_monitoring.chain_alerts import CHAINS, PRICES
from swap_monitoring.money_alerts import PAYMENTS, RECOVERY, SWAPS
from swap_monitoring.rule import Alert, Group, Recording
from swap_monitoring.service_alerts import API, MESSAGES, PROCESSES, WEBHOOKS

GROUPS: Final = (
    SWAPS, PAYMENTS, RECOVERY, CHAINS, PRICES, MESSAGES, WEBHOOKS, API, PROCESSES,
    *objectives.GROUPS,
)  # fmt: skip
HEAD: Final = "# Generated from deploy/monitoring/swap_monitoring by `make generate`.\n"


def prometheus_file(groups: Sequence[Group] = GROUPS) -> str:
    """Return the file that `rule_files` of a Prometheus names."""
    return _yaml(_groups(groups))


def prometheus_rule() -> str:
    """Return the object of the Prometheus operator. Its label is that of the PodMonitor."""
    return _yaml(
        {
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "PrometheusRule",
            "metadata": {"name": "swap"},
            "spec": _groups(GROUPS),
        }
    )


def _groups(groups: Sequence[Group]) -> Mapping[str, Any]:
    return {
        "groups": [
            {"name": group.name, "rules": [_rule(rule, group) for rule in group.rules]}
            for group in groups
        ]
    }


def _rule(rule: Alert | Recording, group: Group) -> Mapping[str, Any]:
    if isinstance(rule, Recording):
        return {"record": rule.name, "expr": rule.expr}
    return {
        "alert": rule.name,
        "expr": rule.expr,
        "for": rule.after,
        "labels": {"severity": rule.severity.value},
        "annotations": {
            "summary": rule.summary,
            "runbook_url": rule.runbook_url(group.page),
        },
    }


def _yaml(document: Mapping[str, Any]) -> str:
    text: str = yaml.safe_dump(document, sort_keys=False, width=100, allow_unicode=True)
    return HEAD + text
