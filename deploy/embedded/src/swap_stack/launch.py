"""Start the supervisor and wait until every service is ready."""

from __future__ import annotations

import asyncio
import sys

import aiohttp

from swap_stack.daemon import Daemon, StackError
from swap_stack.down import SUPERVISOR
from swap_stack.files import write_json
from swap_stack.places import Places
from swap_stack.processes import Registry
from swap_stack.report import Report
from swap_stack.services import ServicePorts, ServiceProcess, SupervisorPlan
from swap_stack.waiting import last_problem, readiness_problem

READY_SECONDS = 180.0  # on a busy machine; a service that ended is noticed at once
POLL_SECONDS = 0.1
TIMEOUT = aiohttp.ClientTimeout(total=2)


class Supervisor(Daemon):
    """The process that keeps the services running."""

    # It waits for the services, which finish what they have begun.
    grace_seconds = 30.0

    def __init__(self, places: Places, registry: Registry) -> None:
        super().__init__(SUPERVISOR, places, registry)

    async def start_with(self, plan: SupervisorPlan) -> None:
        write_json(self.places.supervisor_file, plan.to_json())
        self.spawn(
            [sys.executable, "-m", "swap_stack.supervisor", str(self.places.supervisor_file)]
        )

    async def require_running(self) -> None:
        if not self.is_running():
            raise StackError(f"The supervisor ended.\n{self.last_lines()}")


async def wait_until_ready(
    supervisor: Supervisor,
    services: tuple[ServiceProcess, ...],
    ports: ServicePorts,
    report: Report,
) -> None:
    """
    :raises StackError: naming a service that is not ready in time, with the end of its log.
    """

    async def wait_for(service: ServiceProcess) -> None:
        with report.time_step(service.name, ports.internal_url(service.name)):
            await _wait_for(service, ports, supervisor)

    await asyncio.gather(*(wait_for(service) for service in services))


async def _wait_for(service: ServiceProcess, ports: ServicePorts, supervisor: Supervisor) -> None:
    async with aiohttp.ClientSession(timeout=TIMEOUT) as session:

        async def find_problem() -> str | None:
            problem = await readiness_problem(session, ports.internal_url(service.name))
            if problem:
                await supervisor.require_running()
            return problem

        if problem := await last_problem(find_problem, within=READY_SECONDS, every=POLL_SECONDS):
            raise StackError(
                f"{service.name} is not ready after {READY_SECONDS:.0f} s ({problem}). "
                "Either the machine is too busy, or the log says why:\n"
                f"{_end_of(service)}"
            )


def _end_of(service: ServiceProcess) -> str:
    with open(service.log, errors="replace") as file:
        return "".join(file.readlines()[-20:])
