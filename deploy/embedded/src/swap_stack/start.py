"""The start of a stack, step by step."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from eth_utils.address import to_checksum_address

from swap_runtime.catalogue import load_catalogue
from swap_runtime.messaging.topics import ensure_topics
from swap_stack.account import describe_account, make_account
from swap_stack.catalogue import (
    RunningChain,
    make_catalogue,
    measured_gas,
    write_catalogue,
    write_first_prices,
)
from swap_stack.contracts import deploy_and_fund, find_deployment
from swap_stack.daemon import StackError
from swap_stack.database import (
    DATABASE,
    final_blocks,
    make_roles,
    migrate,
    service_urls,
    show_to_auditor,
)
from swap_stack.files import read_json
from swap_stack.infrastructure import Infrastructure, Part, require_nothing_final_lost
from swap_stack.keys import development_keys, load_or_make
from swap_stack.launch import Supervisor, wait_until_ready
from swap_stack.liquidity import wait_until_quoted
from swap_stack.node import Node
from swap_stack.options import Options
from swap_stack.partners import DEMO, Hook, Operator, make_partners
from swap_stack.parts.anvil import Anvil
from swap_stack.parts.receiver import Receiver
from swap_stack.parts.sandbox import SandboxPart
from swap_stack.places import Places
from swap_stack.ports import Ports
from swap_stack.processes import Registry
from swap_stack.report import Report
from swap_stack.sandbox.settings import SANDBOX, TEST
from swap_stack.services import ON_KAFKA, ServicePorts, ServiceProcess, make_plan
from swap_stack.settings import client_settings, make_settings
from swap_stack.stack_file import describe, write_stack_file


class Start:
    """One start of one stack."""

    def __init__(self, places: Places, options: Options, report: Report) -> None:
        self._places = places
        self._options = options
        self._report = report
        self._ports = Ports(places.ports_file)
        self._registry = Registry(places.processes_file)
        made = load_or_make(places.secrets_file)
        # The caller's wins: partners are made with it, and the services get its hash.
        token = os.environ.get("SWAP_OPERATOR__TOKEN") or made.operator_token
        self._secrets = replace(made, operator_token=token)
        self._keys = development_keys(self._secrets.signer_key)
        self._parts = Infrastructure.of(places, self._ports, self._registry, self._secrets, options)
        self._service_ports = ServicePorts.take(self._ports)
        self._sandbox = SandboxPart(places, self._ports, self._registry)

    async def run(self) -> Mapping[str, Any]:
        """
        :raises StackError: when something cannot be started.
        """
        self._report.print_step(
            "files", f"{self._places.display_path(self._places.var)}, logs in log/"
        )
        chains = await self._prepare_chains()
        nodes = {chain.chain.network: Node(chain.rpc_url) for chain in chains}
        await require_nothing_final_lost(nodes, await final_blocks(self._parts.postgres))
        written = self._write_catalogue(chains)
        catalogue = load_catalogue(written, to_checksum_address)
        superuser_url = self._parts.postgres.url(DATABASE)
        await show_to_auditor(superuser_url, self._places.root, catalogue.networks)
        settings = self._settings(written)
        services = await self._launch(settings)
        partners = await self._partners()
        account = await self._account(partners)
        await self._play(catalogue.environment, partners)
        description = describe(
            parts=self._parts,
            ports=self._service_ports,
            secrets=self._secrets,
            keys=self._keys,
            catalogue=catalogue,
            partners=partners,
            account=account,
        )
        if partners and not self._options.without and self._options.catalogue is None:
            with self._report.time_step("liquidity", "quoted in every token"):
                await wait_until_quoted(description)
        write_stack_file(self._places, description, services, self._service_ports)
        stack: Mapping[str, Any] = read_json(self._places.stack_file)
        return stack

    async def _prepare_chains(self) -> tuple[RunningChain, ...]:
        """Start all parts at once, and on each what it needs, as soon as it is there."""
        choice = self._parts.broker_choice
        secured = ", SASL_SSL with SCRAM and ACLs" if choice.is_secured else ""
        self._report.print_step("broker", f"{choice.kind}: {choice.why}{secured}")
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._start(self._parts.valkey))
                group.create_task(self._database())
                group.create_task(self._broker())
                chains = [group.create_task(self._chain(anvil)) for anvil in self._parts.anvils]
        except ExceptionGroup as failed:
            # The others were stopped because of the first; only its error is reported.
            raise failed.exceptions[0] from None
        return tuple(chain.result() for chain in chains)

    async def _start(self, part: Part) -> None:
        with self._report.time_step(part.name):
            await part.start()
            await part.ready()

    async def _database(self) -> None:
        postgres, passwords = self._parts.postgres, self._secrets.role_passwords
        await self._start(postgres)
        with self._report.time_step("database", "roles, schemas, migrations"):
            await make_roles(postgres, self._places.root, passwords)
            await migrate(self._places.root, service_urls(postgres, passwords))

    async def _broker(self) -> None:
        await self._start(self._parts.broker)
        with self._report.time_step("topics"):
            await ensure_topics(self._parts.broker.client("operator"))

    async def _chain(self, anvil: Anvil) -> RunningChain:
        await self._start(anvil)
        node, chain = Node(anvil.rpc_url), anvil.chain
        file, root = self._places.deployment_file, self._places.root
        deployment = await find_deployment(file, chain, node)
        if deployment is None:
            with self._report.time_step(chain.network, "contracts deployed and funded"):
                deployment = await deploy_and_fund(file, root, chain, node, self._keys)
        return RunningChain(chain, anvil.rpc_url, deployment)

    def _write_catalogue(self, chains: tuple[RunningChain, ...]) -> Path:
        """Return the catalogue that the services read."""
        write_first_prices(self._places.prices_file)
        gas = measured_gas(self._places.root)
        write_catalogue(self._places.catalogue_file, make_catalogue(chains, self._keys, gas))
        if self._options.catalogue is None:
            return self._places.catalogue_file
        if not self._options.catalogue.is_file():
            raise StackError(f"CATALOGUE={self._options.catalogue} is not a file.")
        self._report.print_step("catalogue", str(self._options.catalogue))
        return self._options.catalogue

    def _settings(self, catalogue: Path) -> dict[str, str]:
        return make_settings(
            places=self._places,
            parts=self._parts,
            ports=self._service_ports,
            secrets=self._secrets,
            database_urls=service_urls(self._parts.postgres, self._secrets.role_passwords),
            catalogue=catalogue,
            bench_url=self._sandbox.url,
        )

    async def _partners(self) -> list[dict[str, Any]]:
        if self._options.without & {"api", "notifier"}:
            self._report.print_step("partners", "none: they need the api and the notifier")
            return []
        operator = Operator.of_ports(self._service_ports, self._secrets.operator_token)
        receiver = Receiver(self._places, self._ports, self._registry)
        hooks = {
            DEMO: Hook(receiver.url, self._places.display_path(receiver.received)),
            SANDBOX: Hook(
                self._sandbox.webhook_url, self._places.display_path(self._sandbox.received)
            ),
        }
        with self._report.time_step("partners", "keys and the sample webhook receiver"):
            partners = make_partners(self._places.partners_file, operator, hooks)
            await receiver.start_with(partners[0]["webhook"]["secret"])
            await receiver.ready()
        return partners

    async def _account(self, partners: list[dict[str, Any]]) -> dict[str, str] | None:
        """Return the account of the dashboard as var/stack.json names it."""
        if not partners or "dashboard" in self._options.without:
            return None
        operator = Operator.of_ports(self._service_ports, self._secrets.operator_token)
        with self._report.time_step("account", self._service_ports.public_url("dashboard")):
            await make_account(
                operator,
                self._service_ports.internal_url("dashboard"),
                token=self._secrets.operator_token,
                password=self._secrets.dashboard_password,
            )
        return describe_account(self._service_ports, self._secrets)

    async def _play(self, environment: str, partners: list[dict[str, Any]]) -> None:
        """Start the sandbox, unless real money could be there."""
        if not partners or environment != TEST:
            self._report.print_step("sandbox", "none: it plays on a test catalogue alone")
            return
        nodes = {anvil.chain.network: anvil.rpc_url for anvil in self._parts.anvils}
        with self._report.time_step("sandbox", "docs/sandbox.md"):
            await self._sandbox.start_with(self._service_ports.public_url("api"), nodes)
            await self._sandbox.ready()

    async def _launch(self, settings: Mapping[str, str]) -> tuple[ServiceProcess, ...]:
        clients = {name: client_settings(self._parts.broker.client(name)) for name in ON_KAFKA}
        plan = make_plan(self._places, settings, clients, without=self._options.without)
        supervisor = Supervisor(self._places, self._registry)
        await supervisor.start_with(plan)
        await wait_until_ready(supervisor, plan.services, self._service_ports, self._report)
        return plan.services
