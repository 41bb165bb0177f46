"""Keeps the services running: `python -m swap_stack.supervisor var/supervisor.json`.

One dead service is started again within a second; one that dies again and again is started less
and less often. What happens is logged in var/log/supervisor.log, and the pids in var/stack.json and
var/processes.json follow.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from circus.arbiter import Arbiter
from circus.process import Process
from circus.watcher import Watcher

from swap_stack.backoff import Backoff
from swap_stack.files import change_json, read_json
from swap_stack.processes import Registry, record_of
from swap_stack.services import ServiceProcess, SupervisorPlan

CHECK_SECONDS = 0.2
GRACE_SECONDS = 12.0
# Endpoints inside the process: no other process can send commands.
CONTROL = "inproc://control"
EVENTS = "inproc://events"

logger = logging.getLogger("supervisor")


@dataclass(frozen=True, slots=True)
class PidRecords:
    """The files in which the pids of the services follow."""

    stack_file: Path
    registry: Registry

    def record_start(self, service: ServiceProcess, pid: int) -> None:
        try:
            self.registry.add(record_of(service.key, pid, "SIGTERM", GRACE_SECONDS))
        except ProcessLookupError:
            return
        change_json(self.stack_file, partial(_with_pid, service, pid))


def _with_pid(service: ServiceProcess, pid: int, stack: dict[str, Any] | None) -> object:
    for row in (stack or {}).get("services", ()):
        if (row["name"], row["replica"]) == (service.name, service.replica):
            row["pid"] = pid
    return stack


class LoggedProcess(Process):  # type: ignore[misc]
    """A service whose output goes to its own log, not through a pipe that ends with us."""

    def _null_streams(self, streams: list[Any]) -> None:
        super()._null_streams(streams)
        log = os.open(self.watcher.service.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        for stream in (1, 2):
            os.dup2(log, stream)


class SupervisedService(Watcher):  # type: ignore[misc]
    """One replica of one service."""

    def __init__(self, service: ServiceProcess, pid_records: PidRecords) -> None:
        program, *arguments = service.command
        super().__init__(
            service.key,
            shlex.quote(program),
            args=arguments,
            env=dict(service.env),
            working_dir=service.folder,
            stop_children=False,
            graceful_timeout=GRACE_SECONDS,
        )
        self.service = service
        self._pid_records = pid_records
        self._backoff = Backoff()

    @property
    def _process_class(self) -> type[Process]:
        return LoggedProcess

    def spawn_processes(self) -> Any:
        """Start what is missing, unless it has just died too often; circus calls again soon."""
        if self._backoff.is_waiting(time.monotonic()):
            return completed_future()
        return super().spawn_processes()

    def notify_event(self, topic: str, msg: dict[str, Any]) -> None:
        super().notify_event(topic, msg)
        if topic == "spawn":
            self._on_spawn(msg["process_pid"])
        elif topic == "reap":
            self._on_reap(msg["process_pid"], msg["exit_code"])

    def _on_spawn(self, pid: int) -> None:
        self._backoff.record_start(time.monotonic())
        self._pid_records.record_start(self.service, pid)
        logger.info("%s started, pid %s", self.name, pid)

    def _on_reap(self, pid: int, exit_code: int) -> None:
        how = f"was killed by signal {-exit_code}" if exit_code < 0 else f"ended with {exit_code}"
        if self.is_stopping() or self.arbiter._stopping:
            logger.info("%s %s, pid %s", self.name, how, pid)
            return
        pause = self._backoff.record_exit(time.monotonic())
        when = f"in {pause:.1f} s" if pause else "now"
        logger.warning("%s %s, pid %s; starting it again %s", self.name, how, pid, when)


class StoppableArbiter(Arbiter):  # type: ignore[misc]
    """Asks for dead services until it stops; asking while it stops is an error of circus."""

    def manage_watchers(self) -> Any:
        if self._stopping:
            return completed_future()
        return super().manage_watchers()


def completed_future() -> asyncio.Future[None]:
    done: asyncio.Future[None] = asyncio.get_event_loop().create_future()
    done.set_result(None)
    return done


def main(plan_file: Path) -> None:
    """Run until SIGTERM, then end the services in order and go."""
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO, force=True)
    logging.getLogger("circus").setLevel(logging.WARNING)
    plan = SupervisorPlan.from_json(read_json(plan_file))
    pid_records = PidRecords(Path(plan.stack_file), Registry(Path(plan.processes_file)))
    arbiter = StoppableArbiter(
        [SupervisedService(service, pid_records) for service in plan.services],
        CONTROL,
        EVENTS,
        check_delay=CHECK_SECONDS,
        proc_name="swap-supervisor",
    )
    arbiter.start()
    logger.info("all services ended")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
