"""Rules for every alert: a runbook that exists, and metrics that exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from swap_monitoring.rule import Alert, Group
from swap_monitoring.rules import GROUPS

from deploy.monitoring.tests.expressions import faults, labels_kept_by, metrics_of
from deploy.monitoring.tests.metrics import ROOT, find_metrics, labels_by_exposed_name
from swapctl.app import app

RUNBOOKS = ROOT / "docs/runbooks"
ALERTS = [(group, alert) for group in GROUPS for alert in group.alerts]
EXPRESSIONS = {rule.name: rule.expr for group in GROUPS for rule in group.rules}
QUOTED = re.compile(r"`([^`]+)`")
COMMAND = re.compile(r"`(?:swapctl|kubectl|make|psql|curl) [^`]+`")
LOGGED = re.compile(r"log lines? ((?:`[^`]+`(?:, | and )?)+)")


def sections(page: str) -> Mapping[str, str]:
    """Return the text of each section of a page by its heading."""
    _, *parts = re.split(r"^## (.+)$", (RUNBOOKS / f"{page}.md").read_text(), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize(("group", "alert"), ALERTS, ids=[alert.name for _, alert in ALERTS])
def test_every_alert_has_a_runbook(group: Group, alert: Alert) -> None:
    text = sections(group.page)[alert.name]
    meaning, *steps = [line for line in text.strip().splitlines() if line]

    assert len(meaning.split()) > 4
    headings = [step.partition("**:")[0] for step in steps]
    assert headings == ["- **Look at", "- **Do", "- **Escalate"]
    assert COMMAND.search(text), "a runbook names a command"
    assert alert.runbook_url(group.page).endswith(f"/{group.page}.md#{alert.name.lower()}")


def test_every_runbook_section_belongs_to_an_alert() -> None:
    pages = {group.page for group in GROUPS}
    names = {alert.name for _, alert in ALERTS}

    assert {path.stem for path in RUNBOOKS.glob("*.md")} - {"README"} == pages
    assert {heading for page in pages for heading in sections(page)} == names


def test_every_metric_of_a_rule_exists_with_its_labels() -> None:
    known = labels_by_exposed_name()
    wrong = {rule: found for rule, expr in EXPRESSIONS.items() if (found := faults(expr, known))}

    assert wrong == {}


def test_every_alert_that_the_code_names_has_a_rule() -> None:
    alerted = {metric for metric in find_metrics() if metric.has_alert}
    named = {name for expr in EXPRESSIONS.values() for name in metrics_of(expr)}

    assert len(alerted) > 50
    assert {one.name for one in alerted if not named & set(one.exposed)} == set()


def test_summaries_use_labels_that_their_expressions_keep() -> None:
    """A label that the expression drops is empty in the message."""
    for _, alert in ALERTS:
        labels = labels_kept_by(alert.expr) | set(re.findall(r"absent\(\w+\{(\w+)=", alert.expr))
        assert set(re.findall(r"\$labels\.(\w+)", alert.summary)) <= labels, alert.name


def quoted(prefix: str) -> Iterator[tuple[str, str]]:
    for path in sorted(RUNBOOKS.glob("*.md")):
        for text in QUOTED.findall(path.read_text()):
            if text.startswith(prefix):
                yield path.name, text


def test_every_swapctl_command_of_a_runbook_exists() -> None:
    found = [(page, command) for page, command in quoted("swapctl ")]

    assert len(found) > 40
    for page, command in found:
        _check_command(command, page)


def _check_command(command: str, page: str) -> None:
    node: Any = typer.main.get_command(app)
    _, *words = shlex.split(command)
    while words and hasattr(node, "commands"):
        name = words.pop(0)
        assert name in node.commands, f"{page}: {command}"
        node = node.commands[name]
    assert not hasattr(node, "commands"), f"{page}: {command}"
    options = {name for parameter in node.params for name in parameter.opts}
    used = {word for word in words if word.startswith("--")}
    assert used <= options, f"{page}: {command}"


def test_every_log_line_of_a_runbook_is_logged() -> None:
    sources = "\n".join(
        path.read_text()
        for pattern in ("services/*/src/**/*.py", "libs/*/src/**/*.py")
        for path in ROOT.glob(pattern)
    )
    lines = {
        line
        for path in RUNBOOKS.glob("*.md")
        for run in LOGGED.findall(path.read_text())
        for line in QUOTED.findall(run)
    }

    assert len(lines) > 20
    assert {line for line in lines if f'"{line}"' not in sources} == set()


def test_prometheus_and_operator_files_have_the_same_rules() -> None:
    plain = yaml.safe_load((ROOT / "deploy/monitoring/rules.yaml").read_text())
    component = ROOT / "deploy/k8s/components/monitoring/rules.yaml"
    operated = yaml.safe_load(component.read_text())

    assert operated["kind"] == "PrometheusRule"
    assert operated["spec"] == plain


def test_pages_name_only_existing_alerts() -> None:
    """An alert's name in italics is a reference."""
    names = {alert.name for _, alert in ALERTS}
    camel = re.compile(r"\*([A-Z][a-z]+[A-Z]\w+)\*")
    referred = {
        name for path in Path(RUNBOOKS).glob("*.md") for name in camel.findall(path.read_text())
    }

    assert referred <= names
