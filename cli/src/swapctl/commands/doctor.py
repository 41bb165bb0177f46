"""Checks every part of a deployment and suggests an action for each problem."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit

import httpx
import typer

from swapctl import checkup, state_checks
from swapctl.admin_client import RequestFailed, internal_url
from swapctl.auditor import open_auditor
from swapctl.builds import read_build
from swapctl.checkup import Finding, Level
from swapctl.context import get_endpoints, internal
from swapctl.endpoints import Endpoints, NotConfigured, ServiceName
from swapctl.kafka_topics import TOPICS, kafka_settings, list_topics
from swapctl.network_nodes import NODES_VARIABLE, NetworkNodes, find_nodes, without_key
from swapctl.node_rpc import BlockHead, NodeFailed, NodeRpc
from swapctl.output import Json
from swapctl.service_figures import read_figures
from swapctl.state_queries import check_state, rows_of

SCHEMAS: Final = tuple(ServiceName)  # each service has one, of its name
MIGRATIONS: Final = "services/{}/migrations/versions"
REVISION: Final = re.compile(r'^revision = "(\w+)"', re.MULTILINE)
WITH_OUTBOX: Final = ("api", "chain_watcher", "settler")
VERSION: Final = b"SELECT version_num FROM {}.alembic_version"
OLDEST: Final = b"""
SELECT extract(epoch FROM now() - min(created_at))::float8 AS seconds
FROM {}.outbox WHERE published_at IS NULL
"""
LAG: Final = "swap_consumer_lag_messages"
SILENCE: Final = "swap_consumer_silence_seconds"
REQUIRED: Final = tuple(one for one in ServiceName if one is not ServiceName.DASHBOARD)
CHECKOUT_VARIABLE: Final = "CHECKOUT"  # `make env` sets it
# Servers by name: their variable, and their place in a stack's description.
ENDPOINTS: Final = {
    "broker": ("SWAP_KAFKA__BOOTSTRAP_SERVERS", "kafka", "bootstrap_servers"),
    "Valkey": ("SWAP_REDIS__URL", "redis", "url"),
}
TIMEOUT_SECONDS: Final = 5


def doctor(context: typer.Context, *, as_json: Json = False) -> None:
    """Check database, migrations, broker, Valkey, services, nodes, signers, halts and lag.

    Each line is ok, a warning or failed, with an action. The exit code is 1 if a check failed.
    """
    found = []
    for finding in _findings(context):
        found.append(finding)
        if not as_json:
            _print(finding)
    if as_json:
        typer.echo(json.dumps([asdict(one) for one in found]))
    if any(one.level is Level.FAILED for one in found):
        raise typer.Exit(1)


def _findings(context: typer.Context) -> Iterator[Finding]:
    known = get_endpoints(context)
    yield from _with_failures("database", _database(known))
    for part, keys in ENDPOINTS.items():
        yield _endpoint(known, part, *keys)
    yield from _with_failures("topics", _topics(known))
    builds: dict[str, str] = {}
    for service in REQUIRED:
        yield from _with_failures(f"service {service}", _service(known, service, builds))
    if known.has_url(ServiceName.DASHBOARD):
        yield from _with_failures("dashboard", _service(known, ServiceName.DASHBOARD, builds))
    yield from checkup.check_builds(builds)
    nodes = find_nodes(known)
    yield from _check_nodes(nodes, time.time())
    yield from _with_failures("networks", _networks(context))
    yield from _with_failures("settler", _settler(context, nodes))


def _with_failures(part: str, findings: Iterator[Finding]) -> Iterator[Finding]:
    """Yield the findings. A part that does not answer is a finding."""
    try:
        yield from findings
    except NotConfigured as error:
        yield checkup.failure(part, str(error), "start a stack and name it, or set the variable")
    except RequestFailed as error:
        yield checkup.failure(part, str(error), "start it, or correct its address or credentials")


def _database(known: Endpoints) -> Iterator[Finding]:
    with open_auditor(known.auditor_url) as auditor:
        yield checkup.ok("database", "answers")
        for schema in SCHEMAS:
            versions = rows_of(auditor, schema, "alembic_version", VERSION)
            applied = versions[0]["version_num"] if versions else None
            if applied is None and schema not in REQUIRED and not known.has_url(schema):
                continue  # not deployed
            root = Path(known.environment.get(CHECKOUT_VARIABLE) or ".")
            yield checkup.check_migrations(schema, applied, latest_migration(schema, root))
        for producer in WITH_OUTBOX:
            for row in rows_of(auditor, producer, "outbox", OLDEST):
                yield checkup.check_outbox(producer, row["seconds"])
        yield from check_state(auditor)


def latest_migration(schema: str, root: Path) -> str | None:
    """Return the newest revision in the checkout or image, or None without migrations."""
    folder = root / MIGRATIONS.format(schema.replace("_", "-"))
    found = [REVISION.search(file.read_text()) for file in folder.glob("*.py")]
    return max((one.group(1) for one in found if one), default=None)


def _endpoint(known: Endpoints, part: str, variable: str, section: str, member: str) -> Finding:
    result = known.environment.get(variable) or known.stack.get(section, {}).get(member)
    if not result:
        return checkup.warning(part, "its address is not known", f"set {variable}")
    address = str(result).partition(",")[0]
    url = urlsplit(address if "//" in address else f"//{address}")
    shown = f"{url.hostname}:{url.port}"
    try:
        socket.create_connection((url.hostname or "", url.port or 0), TIMEOUT_SECONDS).close()
    except OSError:
        return checkup.check_endpoint(part, shown, is_open=False)
    return checkup.check_endpoint(part, shown, is_open=True)


def _service(known: Endpoints, name: ServiceName, builds: dict[str, str]) -> Iterator[Finding]:
    url = internal_url(known, name)
    readiness = _readiness(url)
    yield checkup.check_service(name, readiness)
    if readiness is None:
        return
    if (build := read_build(url)) is not None:
        builds[name.value] = str(build)
    figures = read_figures(url, [LAG, SILENCE])
    silences = {one.labels["topic"]: one.value for one in figures[SILENCE]}
    for figure in figures[LAG]:  # none of the dashboard, which consumes nothing
        topic = figure.labels["topic"]
        silence = silences.get(topic, 0)
        yield from state_checks.check_consumer(name, topic, lag=figure.value, silence=silence)


def _topics(known: Endpoints) -> Iterator[Finding]:
    settings = kafka_settings(known)
    if "bootstrap_servers" in settings:  # without, the broker has a line already
        yield state_checks.check_topics(TOPICS, list_topics(settings))


def _readiness(url: str) -> Mapping[str, Any] | None:
    try:
        answer = httpx.get(f"{url}/readyz", timeout=TIMEOUT_SECONDS).json()
    except (httpx.HTTPError, ValueError):
        return None
    return cast("Mapping[str, Any]", answer)


def _check_nodes(nodes: Mapping[str, NetworkNodes], now: float) -> Iterator[Finding]:
    if not nodes:
        yield checkup.warning("nodes", "no node is known", f"set {NODES_VARIABLE}")
    for network in nodes.values():
        for url in network.urls:
            yield from _check_node(network, url, now)
        yield from _agreement(network)


def _check_node(network: NetworkNodes, url: str, now: float) -> Iterator[Finding]:
    node = NodeRpc(url)
    try:
        found: int | str = node.chain_id()
    except NodeFailed as error:
        found = str(error)
    shown = without_key(url)
    yield checkup.check_node(network.network, shown, expected=network.chain_id, found=found)
    if isinstance(found, int):
        try:
            age = int(now - node.block("latest").time)
        except NodeFailed:
            return
        yield from state_checks.check_head_age(network.network, shown, age)


def _agreement(network: NetworkNodes) -> Iterator[Finding]:
    """Compare one final block of all nodes that answer; the others have a finding already."""
    finals: dict[str, int] = {}
    for url in network.urls:
        with suppress(NodeFailed):
            finals[url] = NodeRpc(url).block("finalized").number
    blocks: dict[str, BlockHead] = {}
    for url in finals:
        with suppress(NodeFailed):
            blocks[without_key(url)] = NodeRpc(url).block(min(finals.values()))
    yield from state_checks.check_agreement(network.network, blocks)


def _networks(context: typer.Context) -> Iterator[Finding]:
    for report in internal(context, ServiceName.WATCHER).get("/networks")["networks"]:
        yield from checkup.check_network(report)


def _settler(context: typer.Context, nodes: Mapping[str, NetworkNodes]) -> Iterator[Finding]:
    settler = internal(context, ServiceName.SETTLER)
    for signer in settler.get("/signers")["signers"]:
        network = nodes.get(signer["network"])
        payouts = _payouts_of(network, signer["address"]) if network else None
        yield from checkup.check_signer(signer, payouts)
    yield checkup.check_recovery(settler.get("/recovery"))
    yield from checkup.check_stops(settler.get("/payouts/stops")["stops"])
    yield checkup.check_stuck(settler.get_all("/stuck", "stuck"))


def _payouts_of(network: NetworkNodes, address: str) -> int | None:
    """Return how many payouts the balance covers in gas, as the first answering node reports."""
    try:
        balance, price = network.ask(lambda node: (node.balance(address), node.gas_price()))
    except RequestFailed:
        return None
    return balance // (max(price, 1) * checkup.PAYOUT_GAS)


def _print(finding: Finding) -> None:
    typer.echo(f"{finding.level:<8} {finding.part:<24} {finding.text}")
    if finding.money:
        typer.echo(f"{'':<33} money: {finding.money}")
    if finding.to_do:
        typer.echo(f"{'':<33} to do: {finding.to_do}")
