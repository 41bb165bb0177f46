"""The services of a stack, ended and started one by one, without a supervisor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import aiohttp

from swap_stack.daemon import Daemon, StackError
from swap_stack.down import SUPERVISOR
from swap_stack.files import read_json
from swap_stack.places import Places
from swap_stack.processes import Registry, end
from swap_stack.services import ServiceProcess, SupervisorPlan
from swap_stack.waiting import last_problem, readiness_problem

READY_SECONDS: Final = 90.0
POLL_SECONDS: Final = 0.1
TIMEOUT: Final = aiohttp.ClientTimeout(total=2)
# Senders before readers: a reader of the version before meets no message that it cannot read.
ORDER: Final = ("chain_watcher", "quoter", "settler", "notifier", "api", "dashboard")
Change = Callable[[ServiceProcess], ServiceProcess]


class ServiceDaemon(Daemon):
    """One service. It finishes what it has begun before it ends."""

    grace_seconds = 40.0


class Fleet:
    """Takes a stack's services over from its supervisor."""

    def __init__(self, places: Places, stack: Mapping[str, Any]) -> None:
        """
        :param stack: its description; services that start later are added by `listens`.
        """
        self._places = places
        self._registry = Registry(places.processes_file)
        self._urls = {row["name"]: row["internal_url"] for row in stack["services"]}
        plan = SupervisorPlan.from_json(read_json(places.supervisor_file))
        self.services = {service.name: service for service in plan.services}

    def listens(self, name: str, internal_url: str) -> None:
        """Say where the internal port of a service is that the stack did not have."""
        self._urls[name] = internal_url

    async def take_over(self) -> None:
        """End the supervisor, and with it the services; start them without it.

        :raises StackError: when one is not ready in time.
        """
        for record in self._registry.list_alive():
            if record.name == SUPERVISOR:
                await end(record)
        self._registry.remove({SUPERVISOR})
        for service in self.services.values():
            self._spawn(service)
        await asyncio.gather(*map(self._until_ready, self.services))

    async def replace(self, names: Sequence[str], change: Change) -> None:
        """Change and restart services, one after the other.

        :raises StackError: when one is not ready in time.
        """
        for name in sorted(names, key=ORDER.index):
            await self.swap_for(change(self.services[name]))

    async def swap_for(self, service: ServiceProcess) -> None:
        """End the service of this name, where it runs, and start this one in its place.

        :raises StackError: when it is not ready in time.
        """
        await self.stop(service.name)
        self.services[service.name] = service
        self._spawn(service)
        await self._until_ready(service.name)

    async def stop(self, name: str) -> None:
        """End a service in its own way."""
        if name in self.services:
            await ServiceDaemon(self.services[name].key, self._places, self._registry).stop()

    def _spawn(self, service: ServiceProcess) -> None:
        daemon = ServiceDaemon(service.key, self._places, self._registry)
        daemon.spawn(service.command, env=service.env)

    async def _until_ready(self, name: str) -> None:
        async with aiohttp.ClientSession(timeout=TIMEOUT) as session:
            problem = await last_problem(
                partial(readiness_problem, session, self._urls[name]),
                within=READY_SECONDS,
                every=POLL_SECONDS,
            )
        if problem:
            log = self._places.display_path(self._places.log(self.services[name].key))
            raise StackError(f"{name} is not ready ({problem}): {log}")


def with_settings(**settings: str) -> Change:
    """Return a change that sets variables of a service."""
    return lambda service: replace(service, env={**service.env, **settings})
