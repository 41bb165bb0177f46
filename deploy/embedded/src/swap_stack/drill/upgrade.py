"""`make drill-upgrade`: from the release before to the present code and back, while swaps run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from swap_runtime.catalogue import load_catalogue
from swap_stack.database import DATABASE, make_roles, migrate, service_urls, show_to_auditor
from swap_stack.down import down, wipe
from swap_stack.drill.checks import require_invariants, require_paid_once
from swap_stack.drill.fleet import ORDER, Fleet
from swap_stack.drill.release import Release, install_release
from swap_stack.drill.traffic import Traffic
from swap_stack.files import read_json
from swap_stack.infrastructure import Infrastructure
from swap_stack.keys import Secrets, load_or_make
from swap_stack.options import Options
from swap_stack.parts.sandbox import SandboxPart
from swap_stack.places import Places
from swap_stack.ports import PortsInUse
from swap_stack.processes import Registry
from swap_stack.programs import run_to_end
from swap_stack.report import Report
from swap_stack.services import ServicePorts, ServiceProcess, make_plan
from swap_stack.settings import make_settings
from swap_stack.swaps import open_swaps


@dataclass(frozen=True, slots=True)
class UpgradedStack:
    """The present code on the servers and the data of a stack of the release."""

    places: Places
    parts: Infrastructure
    ports: ServicePorts
    made: Secrets
    catalogue: Path

    async def migrate(self) -> None:
        """Do what `docs/upgrade-notes.md` says comes before the first service."""
        root, passwords = self.places.root, self.made.role_passwords
        await make_roles(self.parts.postgres, root, passwords)
        await migrate(root, service_urls(self.parts.postgres, passwords))
        networks = load_catalogue(self.catalogue, str).networks
        await show_to_auditor(self.parts.postgres.url(DATABASE), root, networks)

    def services(self, bench_url: str) -> Mapping[str, ServiceProcess]:
        """Return the present services, with the release's catalogue."""
        settings = make_settings(
            places=self.places,
            parts=self.parts,
            ports=self.ports,
            secrets=self.made,
            database_urls=service_urls(self.parts.postgres, self.made.role_passwords),
            catalogue=self.catalogue,
            bench_url=bench_url,
        )
        client = {"SWAP_KAFKA__BOOTSTRAP_SERVERS": self.parts.broker.bootstrap_servers}
        plan = make_plan(self.places, {**settings, **client})
        return {service.name: service for service in plan.services}


async def upgrade_and_back(
    release: Release, places: Places, stack: Mapping[str, Any], options: Options, report: Report
) -> None:
    """
    :raises StackError: when a swap is lost or paid twice, or a service does not start.
    """
    fleet = Fleet(places, stack)
    before = dict(fleet.services)
    with report.time_step("services", f"of {release.version}, without a supervisor"):
        await fleet.take_over()
    ports, registry = PortsInUse(places.ports_file), Registry(places.processes_file)
    made = load_or_make(places.secrets_file)
    upgraded = UpgradedStack(
        places,
        Infrastructure.of(places, ports, registry, made, options),
        ServicePorts.take(ports),
        made,
        Path(before["settler"].env["SWAP_CATALOGUE"]),
    )
    after = upgraded.services(SandboxPart(places, ports, registry).url)
    async with open_swaps(stack) as swaps:
        traffic = Traffic(swaps)
        async with traffic.running():
            with report.time_step("migrations", "while the release's services work"):
                await upgraded.migrate()
            for name in ORDER:
                fleet.listens(name, upgraded.ports.internal_url(name))
            await _roll(fleet, ORDER, after, report, "present")
            report.print_step("upgraded", f"{len(traffic.paid)} swaps were paid for until now")
            await _roll(fleet, ORDER[::-1], before, report, release.version)
            report.print_step("back", f"{len(traffic.paid)} swaps were paid for until now")
            await _roll(fleet, ORDER, after, report, "present, again")
        ends = await traffic.until_all_ended()
        report.print_step(
            "swaps", ", ".join(f"{number} {status}" for status, number in ends.items())
        )
        await traffic.until_all_delivered(places, stack)
        await require_paid_once(stack, swaps, traffic.paid)
    await require_invariants(places)


async def _roll(
    fleet: Fleet,
    order: Sequence[str],
    services: Mapping[str, ServiceProcess],
    report: Report,
    version: str,
) -> None:
    """Replace one service after the other; one that the version does not have is ended."""
    for name in order:
        with report.time_step(name, f"→ {version}"):
            if name in services:
                await fleet.swap_for(services[name])
            else:
                await fleet.stop(name)


async def drill(places: Places, options: Options, report: Report) -> None:
    """Do it on a stack of its own, which the release itself starts, and stop.

    :raises StackError: when a swap is lost or paid twice, or a service does not start.
    """
    with report.time_step("release", "checked out and installed beside"):
        release = await install_release(places.root)
    places.var.mkdir(parents=True, exist_ok=True)
    await wipe(places, report)
    env = {"STACK_DIR": str(places.var), "BROKER": options.broker, "FRESH": "1"}
    try:
        with report.time_step("stack", f"of {release.version} ({release.commit[:8]})"):
            await run_to_end(release.stack("up"), env=env)
        stack = read_json(places.stack_file)
        fresh = replace(options, kafka_security="none")
        await upgrade_and_back(release, places, stack, fresh, report)
    finally:
        await down(places, report)
    report.print_step("nothing was lost", "each swap was paid once, and no invariant is violated")
