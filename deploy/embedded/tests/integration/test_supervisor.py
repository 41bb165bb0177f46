"""The supervisor restarts an ended process within a second, and the files follow."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from swap_stack.down import down
from swap_stack.files import read_json, write_json
from swap_stack.launch import Supervisor
from swap_stack.places import Places, default_places
from swap_stack.processes import ProcessRecord, Registry, is_alive
from swap_stack.report import Report
from swap_stack.services import ServiceProcess, SupervisorPlan
from tests.support.waiting import until_true_here

pytestmark = [pytest.mark.connected, pytest.mark.timeout(60)]

SLEEP = "import time; print('here', flush=True); time.sleep(600)"
CRASH = "import sys; print('no luck', flush=True); sys.exit(3)"


class Stage:
    """A supervisor with services that a test chooses."""

    def __init__(self, folder: Path) -> None:
        self.places = Places(folder / "var", default_places().root)
        self.registry = Registry(self.places.processes_file)
        self.supervisor = Supervisor(self.places, self.registry)

    async def start(self, **programs: str) -> None:
        services = tuple(self._service(name, program) for name, program in programs.items())
        write_json(
            self.places.stack_file,
            {"services": [{"name": name, "replica": 0, "pid": None} for name in programs]},
        )
        files = str(self.places.stack_file), str(self.places.processes_file)
        await self.supervisor.start_with(SupervisorPlan(services, *files))

    def _service(self, name: str, program: str) -> ServiceProcess:
        log = str(self.places.log(f"{name}-0"))
        command = (sys.executable, "-c", program)
        return ServiceProcess(name, 0, command, dict(os.environ), str(self.places.var), log)

    def record(self, name: str) -> ProcessRecord | None:
        alive = self.registry.list_alive()
        return next((record for record in alive if record.name == f"{name}-0"), None)

    def log_text(self) -> str:
        return self.places.log("supervisor").read_text()


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    await down(stage.places, Report())


async def test_a_killed_service_is_back_at_once(stage: Stage) -> None:
    await stage.start(settler=SLEEP, quoter=SLEEP)
    await until_true_here(lambda: stage.record("settler") and stage.record("quoter"))
    first, other = stage.record("settler"), stage.record("quoter")
    assert first is not None
    log = stage.places.log("settler-0")
    await until_true_here(lambda: log.read_text() == "here\n")

    os.kill(first.pid, signal.SIGKILL)
    await until_true_here(lambda: stage.record("settler") not in (None, first), within=3.0)

    second = stage.record("settler")
    assert second is not None
    await until_true_here(
        lambda: read_json(stage.places.stack_file)["services"][0]["pid"] == second.pid
    )
    assert stage.record("quoter") == other
    assert f"settler-0 was killed by signal 9, pid {first.pid}" in stage.log_text()
    await until_true_here(lambda: log.read_text() == "here\n" * 2)


async def test_a_service_that_keeps_dying_is_slowed_down(stage: Stage) -> None:
    await stage.start(settler=CRASH)
    await until_true_here(lambda: "starting it again in 1.0 s" in stage.log_text())
    assert "settler-0 ended with 3" in stage.log_text()


async def test_down_ends_the_services_of_a_supervisor_that_was_killed(stage: Stage) -> None:
    await stage.start(settler=SLEEP)
    await until_true_here(lambda: stage.record("settler"))
    orphan = stage.record("settler")
    supervisor = next(r for r in stage.registry.list_alive() if r.name == "supervisor")
    os.kill(supervisor.pid, signal.SIGKILL)

    await down(stage.places, Report())

    assert orphan is not None
    assert not is_alive(orphan)
