"""Dashboards that Grafana can read, with queries of existing metrics."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard as Model
from swap_monitoring.dashboards import DASHBOARDS
from swap_monitoring.panel import Dashboard, Query
from swap_monitoring.rule import Recording
from swap_monitoring.rules import GROUPS

from deploy.monitoring.tests.expressions import faults, labels_kept_by, metrics_of
from deploy.monitoring.tests.metrics import ROOT, labels_by_exposed_name
from deploy.monitoring.tests.promtool import MISSING, check_rules, find_promtool

FOLDER = ROOT / "deploy/monitoring/dashboards"
PROMTOOL = find_promtool()
RECORDED = re.compile(r"\bswap:[a-z_0-9:]+\b")
QUERIES = [(board, query) for board in DASHBOARDS for query in board.queries]


def read(board: Dashboard) -> Any:
    return json.loads((FOLDER / f"{board.uid}.json").read_text())


@pytest.mark.parametrize(
    ("board", "query"), QUERIES, ids=[f"{b.uid} {n}" for n, (b, _) in enumerate(QUERIES)]
)
def test_queries_name_existing_metrics_and_labels(board: Dashboard, query: Query) -> None:
    recorded = {
        rule.name for group in GROUPS for rule in group.rules if isinstance(rule, Recording)
    }

    assert faults(query.expr, labels_by_exposed_name()) == []
    assert set(RECORDED.findall(query.expr)) <= recorded
    assert metrics_of(query.expr) or RECORDED.findall(query.expr)
    assert set(re.findall(r"\{\{(\w+)\}\}", query.legend)) <= labels_kept_by(query.expr)


@pytest.mark.parametrize("board", DASHBOARDS, ids=[board.uid for board in DASHBOARDS])
def test_dashboards_match_the_schema_of_grafana(board: Dashboard) -> None:
    """The schema's classes read and write it unchanged, so they have every member."""
    register_default_plugins()
    document = read(board)

    written = JSONEncoder(sort_keys=True).encode(Model.from_json(document))

    assert json.loads(written) == document


def test_panels_do_not_overlap() -> None:
    for board in DASHBOARDS:
        places = [panel["gridPos"] for panel in read(board)["panels"]]
        places = [
            (x, y)
            for place in places
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        ]
        assert len(places) == len(set(places)), board.uid
        assert max(x for x, _ in places) < 24, board.uid


def test_kubernetes_component_has_every_dashboard() -> None:
    [config_map] = yaml.safe_load((ROOT / "deploy/monitoring/kustomization.yaml").read_text())[
        "configMapGenerator"
    ]

    assert set(config_map["files"]) == {f"dashboards/{board.uid}.json" for board in DASHBOARDS}
    assert {path.stem for path in FOLDER.glob("*.json")} == {board.uid for board in DASHBOARDS}


@pytest.mark.skipif(PROMTOOL is None, reason=MISSING)
def test_queries_are_promql(tmp_path: Path) -> None:
    assert PROMTOOL is not None
    rules = [
        {"record": f"query_{number}", "expr": query.expr.replace("$__rate_interval", "1m")}
        for number, (_, query) in enumerate(QUERIES)
    ]

    document = yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]})

    assert check_rules(PROMTOOL, tmp_path, document) == ""
