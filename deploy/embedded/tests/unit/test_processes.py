"""A process is its pid and its start time; a zombie has ended."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from swap_stack.processes import (
    ProcessRecord,
    Registry,
    end,
    is_alive,
    record_of,
    started_at,
)
from tests.support.waiting import block_until


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


def record(process: subprocess.Popen[bytes], stop_signal: str = "SIGTERM") -> ProcessRecord:
    return record_of("sleeper", process.pid, stop_signal, 2.0)


def wait_until_zombie(process: subprocess.Popen[bytes]) -> None:
    block_until(lambda: started_at(process.pid) is None)


def test_a_running_process_is_alive(sleeper: subprocess.Popen[bytes]) -> None:
    assert is_alive(record(sleeper))


def test_a_zombie_process_is_not_alive(sleeper: subprocess.Popen[bytes]) -> None:
    remembered = record(sleeper)
    sleeper.kill()
    wait_until_zombie(sleeper)
    assert Path(f"/proc/{sleeper.pid}").exists()
    assert not is_alive(remembered)


def test_recycled_pid_is_not_a_process_of_the_stack(
    sleeper: subprocess.Popen[bytes],
) -> None:
    recycled = dataclasses.replace(record(sleeper), started=1)
    assert not is_alive(recycled)


def test_a_pid_from_before_the_last_boot_is_not_the_stacks(
    sleeper: subprocess.Popen[bytes],
) -> None:
    assert not is_alive(dataclasses.replace(record(sleeper), boot="another boot"))


async def test_a_recycled_pid_is_never_killed(sleeper: subprocess.Popen[bytes]) -> None:
    recycled = dataclasses.replace(record(sleeper), started=1)
    assert not await end(recycled)
    assert sleeper.poll() is None


async def test_end_waits_until_the_process_is_gone(sleeper: subprocess.Popen[bytes]) -> None:
    remembered = record(sleeper)
    assert await end(remembered)
    assert not is_alive(remembered)


@pytest.fixture
def stubborn() -> Iterator[subprocess.Popen[bytes]]:
    """A process that ignores SIGTERM."""
    program = "import signal; signal.signal(15, signal.SIG_IGN); print(flush=True); signal.pause()"
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.stdout.close()
    process.wait()


async def test_process_that_ignores_its_signal_is_killed(stubborn: subprocess.Popen[bytes]) -> None:
    assert await end(record_of("stubborn", stubborn.pid, "SIGTERM", 0.2))
    assert stubborn.wait() == -9


def test_a_process_that_ended_cannot_be_recorded(sleeper: subprocess.Popen[bytes]) -> None:
    sleeper.kill()
    wait_until_zombie(sleeper)
    with pytest.raises(ProcessLookupError):
        record(sleeper)


def test_the_registry_keeps_one_process_per_name(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    registry = Registry(tmp_path / "processes.json")
    old = dataclasses.replace(record(sleeper), started=1)
    registry.add(old)
    registry.add(record(sleeper))
    assert registry.list_alive() == (record(sleeper),)
    registry.remove({"sleeper"})
    assert registry.list_records() == ()
