"""`swapctl --namespace`: a kubectl in PATH forwards the internal ports while a command runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from cli.tests.unit.test_commands import Port, serving
from typer.testing import CliRunner, Result

from swapctl.app import app
from swapctl.endpoints import OPERATOR_VARIABLE, SECRETS, URL_VARIABLES, NotConfigured
from swapctl.port_forwards import PortForwards

DEPLOYMENTS = ("SWAPCTL_STACK", "SWAPCTL_NAMESPACE")
# Answers as kubectl does, from a file: a forwarded port by deployment, or what it fails with.
KUBECTL = """#!{python}
import json, os, sys, time
from pathlib import Path
here = Path(__file__).parent
deployment = sys.argv[4].removeprefix("deployment/")
with (here / "calls.jsonl").open("a") as calls:
    calls.write(json.dumps({{"arguments": sys.argv[1:], "pid": os.getpid()}}) + "\\n")
answer = json.loads((here / "answers.json").read_text()).get(deployment)
if answer is None:
    sys.exit(f'Error from server (NotFound): deployments.apps "{{deployment}}" not found')
if isinstance(answer, str):
    sys.exit(answer)
print("Warning: something else", file=sys.stderr, flush=True)
print(f"Forwarding from 127.0.0.1:{{answer}} -> 8081", flush=True)
while True:
    time.sleep(60)
"""


class Kubectl:
    """The stand-in, and what it was called with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        program = folder / "kubectl"
        program.write_text(KUBECTL.format(python=sys.executable))
        program.chmod(0o755)
        self.answer({})

    def answer(self, answers: Mapping[str, int | str]) -> None:
        (self.folder / "answers.json").write_text(json.dumps(answers))

    @property
    def calls(self) -> list[dict[str, Any]]:
        file = self.folder / "calls.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    @property
    def deployments(self) -> list[str]:
        return [call["arguments"][3] for call in self.calls]

    @property
    def are_ended(self) -> bool:
        return not any(Path(f"/proc/{call['pid']}").exists() for call in self.calls)


@pytest.fixture
def port() -> Iterator[Port]:
    with serving() as port:
        yield port


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kubectl:
    """Without what the machine's environment and checkout name."""
    for name in (*URL_VARIABLES.values(), *SECRETS, OPERATOR_VARIABLE, *DEPLOYMENTS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return Kubectl(tmp_path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["--namespace", "swap", "--token", "a-token", *arguments])


def test_only_the_port_that_a_command_asks_is_forwarded(port: Port, kubectl: Kubectl) -> None:
    kubectl.answer({"settler": port.server_address[1]})
    port.answers["GET", "/admin/stuck"] = (200, {"stuck": []})

    result = run("stuck", "--json")

    assert result.exit_code == 0, result.output
    assert [request[3] for request in port.requests] == ["Bearer a-token"]
    [call] = kubectl.calls
    assert call["arguments"][:5] == [
        *("--namespace", "swap", "port-forward", "deployment/settler", ":8081")
    ]
    assert "--address=127.0.0.1" in call["arguments"]
    assert kubectl.are_ended


def test_a_deployment_is_forwarded_once_for_several_requests(port: Port, kubectl: Kubectl) -> None:
    kubectl.answer({"settler": port.server_address[1]})
    forwards = PortForwards("swap")

    urls = [forwards.url("settler") for _ in range(2)]
    forwards.close()

    assert urls == [port.url, port.url]
    assert kubectl.deployments == ["deployment/settler"]
    assert kubectl.are_ended


def test_an_unknown_deployment_is_named(kubectl: Kubectl) -> None:
    failure = run("stuck").exception

    assert isinstance(failure, NotConfigured)
    assert "deployment/settler in the namespace swap" in str(failure)
    assert "not found" in str(failure)


def test_rows_of_other_services_are_shown_when_one_has_no_running_pod(
    port: Port, kubectl: Kubectl
) -> None:
    reason = "error: unable to forward port because pod is not running. Current status=Pending"
    kubectl.answer({"settler": reason, "api": port.server_address[1]})
    port.answers["GET", "/admin/audit?limit=50"] = (
        200,
        {"orders": [{"at": "2026-01-01T00:00:00Z"}]},
    )

    result = run("audit", "--json")

    assert [row["service"] for row in json.loads(result.stdout)] == ["api"]
    assert "Current status=Pending" in str(result.exception)
    assert kubectl.deployments.count("deployment/settler") == 1  # a second try would be as slow


def test_a_service_that_is_not_deployed_has_no_version(port: Port, kubectl: Kubectl) -> None:
    others = ("api", "quoter", "chain-watcher", "settler", "notifier")
    kubectl.answer(dict.fromkeys(others, port.server_address[1]))
    port.answers["GET", "/metrics"] = (200, "")

    result = run("version", "--json")

    assert result.exit_code == 0, result.exception
    assert {row["service"].replace("_", "-") for row in json.loads(result.stdout)} == set(others)


def test_an_address_of_the_environment_wins(
    port: Port, kubectl: Kubectl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWAPCTL_SETTLER_URL", port.url)
    port.answers["GET", "/admin/stuck"] = (200, {"stuck": []})

    assert run("stuck").exit_code == 0
    assert kubectl.calls == []


def test_the_token_of_a_local_stack_is_not_used(kubectl: Kubectl) -> None:
    (kubectl.folder / "var").mkdir()
    (kubectl.folder / "var/stack.json").write_text('{"operator": {"token": "of-the-stack"}}')
    kubectl.answer({"settler": 1})

    failure = CliRunner().invoke(app, ["--namespace", "swap", "stuck"]).exception

    assert isinstance(failure, NotConfigured)
    assert "the operator's token is unknown" in str(failure)


def test_a_stack_and_a_namespace_are_refused(
    kubectl: Kubectl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWAPCTL_STACK", str(kubectl.folder / "stack.json"))
    monkeypatch.setenv("SWAPCTL_NAMESPACE", "swap")

    failure = CliRunner().invoke(app, ["stuck"]).exception

    assert isinstance(failure, NotConfigured)
    assert "give one of them" in str(failure)


def test_an_option_wins_over_the_variable_of_the_other_deployment(
    port: Port, kubectl: Kubectl, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubectl.answer({"settler": port.server_address[1]})
    port.answers["GET", "/admin/stuck"] = (200, {"stuck": []})
    monkeypatch.setenv("SWAPCTL_STACK", str(kubectl.folder / "stack.json"))
    of_namespace = run("stuck")
    monkeypatch.delenv("SWAPCTL_STACK")
    monkeypatch.setenv("SWAPCTL_NAMESPACE", "swap")
    of_stack = CliRunner().invoke(app, ["--stack", str(kubectl.folder / "none.json"), "stuck"])

    assert of_namespace.exit_code == 0
    assert "none.json" in str(of_stack.exception)


def test_a_machine_without_kubectl_is_told_so(
    kubectl: Kubectl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(kubectl.folder / "empty"))

    assert "kubectl cannot be started" in str(run("stuck").exception)


def test_sigterm_ends_the_forwards(port: Port, kubectl: Kubectl) -> None:
    kubectl.answer({"settler": port.server_address[1]})
    port.pause_seconds = 5
    command = [sys.executable, "-m", "swapctl", "--namespace", "swap", "--token", "a-token"]
    process = subprocess.Popen([*command, "stuck"], stderr=subprocess.PIPE)
    wait_for_call(kubectl)

    process.send_signal(signal.SIGTERM)

    assert process.wait(timeout=20) == 128 + signal.SIGTERM
    assert kubectl.are_ended


def wait_for_call(kubectl: Kubectl) -> None:
    ends_at = time.monotonic() + 20
    while not kubectl.calls:
        assert time.monotonic() < ends_at, "kubectl was not called"
        time.sleep(0.05)
