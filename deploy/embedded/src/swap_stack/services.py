"""The services of a stack: their commands, addresses and settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from swap_stack.places import Places
from swap_stack.ports import Ports

# They exchange messages; the dashboard calls the api alone.
ON_KAFKA = ("api", "quoter", "chain_watcher", "settler", "notifier")
SERVICES = (*ON_KAFKA, "dashboard")
# The operators' console calls all of them and has no database.
PROCESSES = (*SERVICES, "console")
WITH_PUBLIC_PORT = ("api", "quoter", "dashboard", "console")
MODULES = {"console": "swap_dashboard.console"}


@dataclass(frozen=True, slots=True)
class ServiceProcess:
    """One process as the supervisor runs it."""

    name: str
    replica: int
    command: tuple[str, ...]
    env: Mapping[str, str]
    folder: str
    log: str

    @property
    def key(self) -> str:
        return f"{self.name}-{self.replica}"


@dataclass(frozen=True, slots=True)
class SupervisorPlan:
    """What the supervisor runs, and the files in which the pids follow."""

    services: tuple[ServiceProcess, ...]
    stack_file: str
    processes_file: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, plan: Mapping[str, Any]) -> SupervisorPlan:
        services = tuple(ServiceProcess(**row) for row in plan["services"])
        return cls(services, plan["stack_file"], plan["processes_file"])


@dataclass(frozen=True, slots=True)
class ServicePorts:
    """Where each service listens."""

    internal: Mapping[str, int]
    public: Mapping[str, int]

    @classmethod
    def take(cls, ports: Ports) -> ServicePorts:
        return cls(
            {name: ports.take(f"{name}-internal") for name in PROCESSES},
            {name: ports.take(name) for name in WITH_PUBLIC_PORT},
        )

    def internal_url(self, service: str) -> str:
        return f"http://127.0.0.1:{self.internal[service]}"

    def public_url(self, service: str) -> str:
        return f"http://127.0.0.1:{self.public[service]}"


def own_settings(ports: ServicePorts, database_urls: Mapping[str, str]) -> dict[str, str]:
    """Return each service's own group of settings."""
    settings: dict[str, str] = {}
    for name in PROCESSES:
        prefix = f"SWAP_{name.upper()}__"
        if name in SERVICES:
            settings[f"{prefix}DATABASE_URL"] = database_urls[name]
        settings[f"{prefix}INTERNAL_PORT"] = str(ports.internal[name])
        if name in ports.public:
            settings[f"{prefix}PORT"] = str(ports.public[name])
    return settings


def make_plan(
    places: Places,
    settings: Mapping[str, str],
    of_each: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    *,
    without: frozenset[str] = frozenset(),
) -> SupervisorPlan:
    """Say what to run. What the caller's environment says wins, but for ports and operators.

    The caller's SWAP_OPERATOR__TOKEN is the first operator's: services have its hash alone.

    :param of_each: settings of one service alone, by its name.
    """
    fixed = {
        name: value
        for name, value in settings.items()
        if name.endswith("PORT") or name == "SWAP_OPERATORS"
    }
    inherited = {
        name: value for name, value in os.environ.items() if name != "SWAP_OPERATOR__TOKEN"
    }

    def environment(service: str) -> dict[str, str]:
        own = of_each.get(service, {})
        return {**settings, **own, **inherited, **fixed, "PYTHONUNBUFFERED": "1"}

    return SupervisorPlan(
        tuple(
            ServiceProcess(
                name=name,
                replica=0,
                command=(sys.executable, "-m", MODULES.get(name, f"swap_{name}")),
                env=environment(name),
                folder=str(places.root),
                log=str(places.log(f"{name}-0")),
            )
            for name in PROCESSES
            if name not in without
        ),
        str(places.stack_file),
        str(places.processes_file),
    )
