"""Every alert fires on time, not earlier, and ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from swap_monitoring.rule import Alert, Group
from swap_monitoring.rules import GROUPS, prometheus_file

from deploy.monitoring.tests.case import Case
from deploy.monitoring.tests.cases import CASES
from deploy.monitoring.tests.promtool import MISSING, find_promtool, run_rule_tests

PROMTOOL = find_promtool()
ALERTS: Mapping[str, tuple[Group, Alert]] = {
    alert.name: (group, alert) for group in GROUPS for alert in group.alerts
}


def rule_test(case: Case, minute: int, *, fires: bool) -> Mapping[str, Any]:
    group, alert = ALERTS[case.alert]
    expected = {
        "exp_labels": {"severity": alert.severity.value, **case.labels},
        "exp_annotations": {
            "summary": case.summary,
            "runbook_url": alert.runbook_url(group.page),
        },
    }
    return {
        "eval_time": f"{minute}m",
        "alertname": case.alert,
        "exp_alerts": [expected] if fires else [],
    }


def test_every_alert_has_one_case() -> None:
    assert Counter(case.alert for case in CASES) == Counter(ALERTS.keys())


@pytest.mark.skipif(PROMTOOL is None, reason=MISSING)
@pytest.mark.parametrize("group", GROUPS, ids=[group.name for group in GROUPS])
def test_every_alert_fires_and_ends(group: Group, tmp_path: Path) -> None:
    """One group at a time, because promtool evaluates all loaded rules in every minute."""
    assert PROMTOOL is not None
    names = {alert.name for alert in group.alerts}
    tests = [
        {
            "interval": "1m",
            "input_series": [{"series": s, "values": v} for s, v in case.series.items()],
            "alert_rule_test": [
                rule_test(case, case.fires - 1, fires=False),
                rule_test(case, case.fires, fires=True),
                rule_test(case, case.ends, fires=False),
            ],
        }
        for case in CASES
        if case.alert in names
    ]

    if failures := run_rule_tests(PROMTOOL, tmp_path, prometheus_file([group]), tests):
        pytest.fail(failures, pytrace=False)
