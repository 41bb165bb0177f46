"""What is left on the host: var/stack.json while the stack runs, and the webhooks received."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
from eth_utils.address import to_checksum_address

from swap_compose.kafka import describe_kafka
from swap_compose.places import (
    CHECKOUT,
    GATEWAY_URL,
    HOST,
    RECEIVED,
    SANDBOX_RECEIVED,
    STACK,
    HostPorts,
    InsidePorts,
)
from swap_compose.secrets import DATABASE
from swap_domain.catalogue import Catalogue
from swap_runtime.catalogue import load_catalogue
from swap_stack.account import describe_account
from swap_stack.daemon import StackError
from swap_stack.files import read_json, write_json
from swap_stack.keys import Secrets, development_keys, load_or_make
from swap_stack.liquidity import wait_until_quoted
from swap_stack.operators import describe_operators
from swap_stack.services import SERVICES
from swap_stack.stack_file import VERSION, describe_network
from swap_stack.waiting import last_problem, readiness_problem

STACK_FILE = HOST / "stack.json"
WEBHOOKS = HOST / "webhooks"
OWN_USER = 10001  # who the receiver is
READABLE_BY_GROUP = 0o660
READY_SECONDS = 120.0
POLL_SECONDS = 0.2
TIMEOUT = aiohttp.ClientTimeout(total=2)


def prepare_host_files() -> None:
    """Make what containers without rights write into, owned by the owner of the checkout.

    :raises StackError: when another kind of stack is described there already.
    """
    description = read_json(STACK_FILE)
    if description is not None and not description.get("containers"):
        raise StackError("var/stack.json describes a stack of `make up`: `make down` first.")
    STACK_FILE.unlink(missing_ok=True)
    WEBHOOKS.mkdir(exist_ok=True)
    _give_to_checkout_owner(HOST)
    _give_to_checkout_owner(WEBHOOKS)
    for name in (RECEIVED.name, SANDBOX_RECEIVED.name):
        received = WEBHOOKS / name
        received.touch()
        os.chown(received, OWN_USER, CHECKOUT.stat().st_gid)
        received.chmod(READABLE_BY_GROUP)


async def keep_stack_file(ports: HostPorts) -> None:
    """Write var/stack.json once everything is ready, and keep it until stopped.

    :raises StackError: when something is not ready in time.
    """
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    description = describe(
        ports=ports,
        secrets=load_or_make(STACK.secrets_file),
        catalogue=load_catalogue(STACK.catalogue_file, to_checksum_address),
        partners=read_json(STACK.partners_file),
        environ=os.environ,
    )
    for service in SERVICES:
        await _wait_until_ready(service)
    # Here the gateway has another name than for readers of the file.
    await wait_until_quoted({**description, "gateway": {"url": GATEWAY_URL}})
    STACK_FILE.unlink(missing_ok=True)  # what an earlier process left may be out of date
    try:
        await keep_written(description, stopped)
    finally:
        STACK_FILE.unlink(missing_ok=True)


async def keep_written(description: Mapping[str, Any], stopped: asyncio.Event) -> None:
    """Write the file whenever it is missing, until stopped.

    A second `up` leaves this container running, but its `host-files` job removes the file.
    """
    while not stopped.is_set():
        if not STACK_FILE.exists():
            write_json(STACK_FILE, description)
            _give_to_checkout_owner(STACK_FILE)
        with suppress(TimeoutError):
            async with asyncio.timeout(POLL_SECONDS):
                await stopped.wait()


def describe(
    *,
    ports: HostPorts,
    secrets: Secrets,
    catalogue: Catalogue,
    partners: list[dict[str, Any]],
    environ: Mapping[str, str],
) -> dict[str, Any]:
    """Return the same as the embedded stack's description, with addresses of the host."""
    keys = development_keys(secrets.signer_key)

    def postgres_url(role: str, password: str) -> str:
        return f"postgresql://{role}:{password}@127.0.0.1:{ports.postgres}/{DATABASE}"

    urls = {role: postgres_url(role, word) for role, word in secrets.role_passwords.items()}
    return {
        "version": VERSION,
        "about": "A development stack: every key, password and secret in this file is for this "
        "machine only.",
        "containers": True,
        "broker": "kafka",
        "gateway": {"url": ports.services.public_url("api")},
        "dashboard": describe_account(ports.services, secrets),
        "console": {"url": ports.services.public_url("console")},
        "partners": partners,
        "networks": [describe_network(network, keys) for network in catalogue.networks.values()],
        "services": [
            {
                "name": name,
                "replica": 0,
                "pid": None,  # the containers have their own
                "internal_url": ports.services.internal_url(name),
                "log": f"docker compose logs {name.replace('_', '-')}",
            }
            for name in SERVICES
        ],
        "postgres": {
            "url": postgres_url("postgres", secrets.postgres_password),
            "auditor_url": urls.pop("auditor"),
            "service_urls": urls,
        },
        "kafka": describe_kafka(ports.kafka, secrets, environ),
        "redis": {"url": f"redis://127.0.0.1:{ports.valkey}/0"},
        "operator": {"token": secrets.operator_token},
        "operators": describe_operators(secrets),
    }


async def _wait_until_ready(service: str) -> None:
    url = InsidePorts.all().internal_url(service)
    async with aiohttp.ClientSession(timeout=TIMEOUT) as session:
        find_problem = partial(readiness_problem, session, url)
        problem = await last_problem(find_problem, within=READY_SECONDS, every=POLL_SECONDS)
    if problem:
        raise StackError(f"{service} is not ready: {problem}")


def _give_to_checkout_owner(path: Path) -> None:
    owner = CHECKOUT.stat()
    os.chown(path, owner.st_uid, owner.st_gid)
