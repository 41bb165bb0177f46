"""The whole stack: it starts from nothing, continues after a restart, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from deploy.embedded.tests.chain_state import wait_until_written
from swap_stack.down import turn
from swap_stack.places import ROOT, Places
from swap_stack.processes import Registry, send
from tests.support.waiting import block_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
# The data of the stack that must not change over its restarts.
UNCHANGED = ("gateway", "partners", "networks")


class Stack:
    """The commands, on the test's own folder."""

    def __init__(self, folder: Path) -> None:
        self.places = Places(folder)
        self._env = {**os.environ, "STACK_DIR": str(folder), "BROKER": "embedded"}

    def run(self, command: str) -> str:
        process = self.start(command)
        output, _ = process.communicate(timeout=200)
        assert process.returncode == 0, output
        return output

    def start(self, command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "swap_stack", command],
            cwd=ROOT,
            env=self._env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def description(self) -> dict[str, Any]:
        stack: dict[str, Any] = json.loads(self.places.stack_file.read_text())
        return stack

    def swap(self) -> str:
        """Run one more swap to its end and return its id."""
        before = {row["swap"]["id"] for row in self._swaps()}
        assert "completed" in self.run("swap")
        [new] = {row["swap"]["id"] for row in self._swaps()} - before
        return str(new)

    def statuses(self, swaps: Collection[str]) -> set[str]:
        """Return the api's status of each swap."""
        return {self._get(f"/api/v2/swaps/{swap}")["swap"]["status"] for swap in swaps}

    def kill_everything(self) -> None:
        """Kill every process at once, the supervisor first, because it would restart the others."""
        records = Registry(self.places.processes_file).list_alive()
        for record in sorted(records, key=turn):
            send(record, signal.SIGKILL)
        block_until(lambda: not self.alive())

    def _swaps(self) -> list[dict[str, Any]]:
        swaps: list[dict[str, Any]] = self._get("/api/v2/swaps?page_size=100")
        return swaps

    def _get(self, path: str) -> Any:
        stack = self.description()
        key = stack["partners"][0]["api_key"]
        request = Request(stack["gateway"]["url"] + path, headers={"X-SVC-APIKEY": key})
        with urlopen(request, timeout=20) as answer:
            return json.load(answer)["data"]

    def alive(self) -> set[str]:
        records = Registry(self.places.processes_file).list_alive()
        return {record.name for record in records}


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    stack = Stack(tmp_path / "var")
    yield stack
    stack.run("down")


@pytest.mark.timeout(900)
def test_stack_continues_after_five_restarts_and_a_kill_of_all_processes(stack: Stack) -> None:
    stack.run("up")
    first = stack.description()
    swaps = [stack.swap()]
    for _ in range(5):
        stack.run("down")
        assert not stack.places.stack_file.exists()
        assert stack.alive() == set()
        stack.run("up")
        assert {name: stack.description()[name] for name in UNCHANGED} == {
            name: first[name] for name in UNCHANGED
        }
        swaps.append(stack.swap())
        assert stack.statuses(swaps) == {"completed"}

    for network in first["networks"]:
        wait_until_written(stack.places.var / f"anvil/{network['name']}.json")
    stack.kill_everything()
    stack.run("up")
    assert {name: stack.description()[name] for name in UNCHANGED} == {
        name: first[name] for name in UNCHANGED
    }
    swaps.append(stack.swap())
    assert stack.statuses(swaps) == {"completed"}


def test_up_twice_reports_the_running_stack(stack: Stack) -> None:
    stack.run("up")
    first = stack.description()
    assert "runs already" in stack.run("up")
    assert stack.description() == first


def test_a_process_that_ended_unnoticed_is_restarted(stack: Stack) -> None:
    stack.run("up")
    (anvil,) = (
        record
        for record in Registry(stack.places.processes_file).list_records()
        if record.name == "anvil-base_devnet"
    )
    wait_until_written(stack.places.var / "anvil/BASE_DEVNET.json")
    os.kill(anvil.pid, signal.SIGKILL)
    assert "anvil-base_devnet: starting all again" in stack.run("up")
    assert "completed" in stack.run("swap")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_start_leaves_no_processes(stack: Stack, number: signal.Signals) -> None:
    process = stack.start("up")
    block_until(lambda: "postgres" in stack.alive())
    started = Registry(stack.places.processes_file).list_records()
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert stack.alive() == set()
    assert not any(Path(f"/proc/{record.pid}/exe").exists() for record in started)
