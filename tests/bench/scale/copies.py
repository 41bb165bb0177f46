"""Second processes of services, beside those that the supervisor runs."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from swap_stack.files import read_json
from swap_stack.places import Places
from swap_stack.ports import PortsInUse
from swap_stack.processes import Registry, end, record_of
from swap_stack.services import WITH_PUBLIC_PORT, ServiceProcess, SupervisorPlan
from tests.bench.clients import Client

GRACE_SECONDS = 12.0
READY_SECONDS = 120.0
POLL_SECONDS = 0.2
OK = 200


class CopyFailed(RuntimeError):
    """A second process did not become ready."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A second process of one service."""

    service: ServiceProcess
    internal_url: str
    public_url: str  # empty: the service has no public port

    @property
    def name(self) -> str:
        return self.service.name


@asynccontextmanager
async def started_copies(places: Places, names: Collection[str]) -> AsyncIterator[Sequence[Copy]]:
    """Run a second process of each service: ready at the start of the block, stopped at its end.

    :raises CopyFailed: when one is not ready in two minutes.
    """
    plan = SupervisorPlan.from_json(read_json(places.supervisor_file) or {})
    first = {service.name: service for service in plan.services}
    ports, registry = PortsInUse(places.ports_file), Registry(places.processes_file)
    copies = [_copy(first[name], places, ports) for name in names]
    started: list[subprocess.Popen[bytes]] = []
    try:
        for copy in copies:
            process = _spawn(copy.service)
            started.append(process)
            registry.add(record_of(copy.service.key, process.pid, "SIGTERM", GRACE_SECONDS))
        await asyncio.gather(*(_wait_until_ready(copy) for copy in copies))
        yield copies
    finally:
        keys = {copy.service.key for copy in copies}
        await asyncio.gather(*(end(each) for each in registry.list_alive() if each.name in keys))
        registry.remove(keys)
        for process in started:
            process.wait()


def _copy(first: ServiceProcess, places: Places, ports: PortsInUse) -> Copy:
    prefix = f"SWAP_{first.name.upper()}__"
    internal = ports.take(f"{first.name}-1-internal")
    own = {f"{prefix}INTERNAL_PORT": str(internal)}
    public = ""
    if first.name in WITH_PUBLIC_PORT:
        port = ports.take(f"{first.name}-1")
        own[f"{prefix}PORT"] = str(port)
        public = f"http://127.0.0.1:{port}"
    service = ServiceProcess(
        first.name,
        1,
        first.command,
        {**first.env, **own},
        first.folder,
        str(places.log(f"{first.name}-1")),
    )
    return Copy(service, f"http://127.0.0.1:{internal}", public)


def _spawn(service: ServiceProcess) -> subprocess.Popen[bytes]:
    with open(service.log, "ab") as log:
        return subprocess.Popen(
            service.command,
            env=dict(service.env),
            cwd=service.folder,
            stdout=log,
            stderr=log,
        )


async def _wait_until_ready(copy: Copy) -> None:
    client = Client(copy.internal_url)
    try:
        async with asyncio.timeout(READY_SECONDS):
            while not await _is_ready(client):  # noqa: ASYNC110
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise CopyFailed(f"{copy.service.key} is not ready: see {copy.service.log}") from None
    finally:
        client.close()


async def _is_ready(client: Client) -> bool:
    with suppress(OSError):
        status, _ = await client.get("/readyz")
        return status == OK
    return False
