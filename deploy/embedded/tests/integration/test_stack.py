"""The whole stack: it comes up from nothing, goes on where it was, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from swap_stack.places import ROOT, Places
from swap_stack.processes import Registry

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


class Stack:
    """The commands, on a folder of the test's own."""

    def __init__(self, folder: Path) -> None:
        self.places = Places(folder)
        self._env = {**os.environ, "STACK_DIR": str(folder), "BROKER": "embedded"}

    def run(self, command: str) -> str:
        process = self.start(command)
        said, _ = process.communicate(timeout=200)
        assert process.returncode == 0, said
        return said

    def start(self, command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "swap_stack", command],
            cwd=ROOT,
            env=self._env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def told(self) -> dict[str, Any]:
        stack: dict[str, Any] = json.loads(self.places.stack_file.read_text())
        return stack

    def alive(self) -> set[str]:
        records = Registry(self.places.processes_file).list_alive()
        return {record.name for record in records}


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    stack = Stack(tmp_path / "var")
    yield stack
    stack.run("down")


def until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def wait_until_written(state: Path) -> None:
    """Return right after a chain has written its state: killed while it writes, it has none."""
    before = state.stat().st_mtime_ns
    until(lambda: state.stat().st_mtime_ns != before and is_whole(state))


def is_whole(state: Path) -> bool:
    try:
        json.loads(state.read_text())
    except json.JSONDecodeError:
        return False
    return True


def test_a_swap_goes_through_and_another_after_a_restart(stack: Stack) -> None:
    stack.run("up")
    first = stack.told()
    assert "completed" in stack.run("swap")
    stack.run("down")
    assert not stack.places.stack_file.exists()
    assert stack.alive() == set()

    stack.run("up")
    second = stack.told()
    assert second["gateway"] == first["gateway"]
    assert second["partners"] == first["partners"]
    assert second["networks"] == first["networks"]
    assert "completed" in stack.run("swap")


def test_up_twice_says_what_runs(stack: Stack) -> None:
    stack.run("up")
    first = stack.told()
    assert "runs already" in stack.run("up")
    assert stack.told() == first


def test_what_died_while_nobody_looked_is_started_again(stack: Stack) -> None:
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
def test_an_interrupted_start_leaves_nothing(stack: Stack, number: signal.Signals) -> None:
    process = stack.start("up")
    until(lambda: "postgres" in stack.alive())
    started = Registry(stack.places.processes_file).list_records()
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert stack.alive() == set()
    assert not any(Path(f"/proc/{record.pid}/exe").exists() for record in started)
