"""`swapctl version`: the builds that answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli.tests.unit.test_commands import Port, port, stack
from typer.testing import CliRunner

from swapctl.admin_client import RequestFailed
from swapctl.app import app
from swapctl.endpoints import NotConfigured

__all__ = ["port", "stack"]
METRICS = """
# TYPE swap_build_info gauge
swap_build_info{revision="abc123",version="v1.2.3"} 1.0
"""
SERVICES = ("api", "quoter", "chain_watcher", "settler", "notifier")


def run(stack: Path) -> list[dict[str, Any]]:
    result = CliRunner().invoke(app, ["--stack", str(stack), "version", "--json"])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    rows: list[dict[str, Any]] = json.loads(result.stdout)
    return rows


def test_each_service_names_its_build(port: Port, stack: Path) -> None:
    port.answers["GET", "/metrics"] = (200, METRICS)

    build = {"version": "v1.2.3", "revision": "abc123"}
    assert run(stack) == [{"service": name, **build} for name in SERVICES]


def test_an_earlier_release_names_none(port: Port, stack: Path) -> None:
    port.answers["GET", "/metrics"] = (200, "# TYPE swap_other gauge\nswap_other 1.0\n")

    assert {row["version"] for row in run(stack)} == {None}


def test_a_service_that_does_not_answer_fails_after_the_others(port: Port, stack: Path) -> None:
    port.answers["GET", "/metrics"] = (503, {})

    result = CliRunner().invoke(app, ["--stack", str(stack), "version"])

    assert isinstance(result.exception, RequestFailed)
    assert "settler" in result.stdout


def test_without_an_address_it_says_what_to_set(tmp_path: Path) -> None:
    nothing = tmp_path / "stack.json"
    nothing.write_text("{}")

    with pytest.raises(NotConfigured, match="--stack"):
        run(nothing)
