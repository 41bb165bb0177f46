"""Checks every part of a deployment and says what to do about each problem."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import typer
from psycopg import sql

from swapctl import checkup
from swapctl.admin_client import RequestFailed
from swapctl.auditor import Auditor, open_auditor
from swapctl.checkup import Finding, Level
from swapctl.context import get_endpoints, internal
from swapctl.endpoints import Endpoints, NotConfigured, ServiceName
from swapctl.node_rpc import NodeFailed, NodeRpc
from swapctl.output import Json

SCHEMAS: Final = ("api", "quoter", "chain_watcher", "settler", "notifier")
MIGRATIONS: Final = "services/{}/migrations/versions"
REVISION: Final = re.compile(r'^revision = "(\w+)"', re.MULTILINE)
WITH_OUTBOX: Final = ("api", "chain_watcher", "settler")
VERSION: Final = b"SELECT version_num FROM {}.alembic_version"
OLDEST: Final = b"""
SELECT extract(epoch FROM now() - min(created_at))::float8 AS seconds
FROM {}.outbox WHERE published_at IS NULL
"""
CHECKOUT_VARIABLE: Final = "CHECKOUT"  # `make env` sets it
NODES_VARIABLE: Final = "SWAP_NODES"
# Servers by name: their variable, and their place in a stack's description.
ENDPOINTS: Final = {
    "broker": ("SWAP_KAFKA__BOOTSTRAP_SERVERS", "kafka", "bootstrap_servers"),
    "Valkey": ("SWAP_REDIS__URL", "redis", "url"),
}
TIMEOUT_SECONDS: Final = 5


def doctor(context: typer.Context, *, as_json: Json = False) -> None:
    """Check database, migrations, broker, Valkey, services, nodes, signers, halts and lag.

    Each line is ok, a warning or failed, with what to do. The exit code is 1 if a check failed.
    """
    found = []
    for finding in _findings(context):
        found.append(finding)
        if not as_json:
            _print(finding)
    if as_json:
        typer.echo(json.dumps([_row(one) for one in found]))
    if any(one.level is Level.FAILED for one in found):
        raise typer.Exit(1)


def _findings(context: typer.Context) -> Iterator[Finding]:
    known = get_endpoints(context)
    yield from _guarded("database", lambda: _database(known))
    for part, keys in ENDPOINTS.items():
        yield _endpoint(known, part, *keys)
    for service in ServiceName:
        yield from _guarded(f"service {service}", partial(_services, known, service))
    nodes = _nodes(known)
    yield from _check_nodes(nodes)
    yield from _guarded("networks", lambda: _networks(context))
    yield from _guarded("settler", lambda: _settler(context, nodes))


def _guarded(part: str, check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """Yield the findings. A part that does not answer is a finding."""
    try:
        yield from check()
    except NotConfigured as error:
        yield checkup.warning(part, str(error), "name a stack, or set the variable")
    except RequestFailed as error:
        yield checkup.failed(part, str(error), "start it, or correct its address or credentials")


def _database(known: Endpoints) -> Iterator[Finding]:
    with open_auditor(known.auditor_url) as auditor:
        yield checkup.ok("database", "answers")
        for schema in SCHEMAS:
            versions = _rows_of(auditor, schema, "alembic_version", VERSION)
            applied = versions[0]["version_num"] if versions else None
            root = Path(known.environment.get(CHECKOUT_VARIABLE) or ".")
            yield checkup.check_migrations(schema, applied, latest_migration(schema, root))
        for schema in WITH_OUTBOX:
            for row in _rows_of(auditor, schema, "outbox", OLDEST):
                yield checkup.check_outbox(schema, row["seconds"])


def _rows_of(auditor: Auditor, schema: str, table: str, query: bytes) -> list[dict[str, Any]]:
    if not auditor.has_table(f"{schema}.{table}"):
        return []
    return auditor.rows(query.replace(b"{}", sql.Identifier(schema).as_bytes(None)))


def latest_migration(schema: str, root: Path) -> str | None:
    """Return the newest revision in the checkout or image, or None where there is none."""
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


def _services(known: Endpoints, name: ServiceName) -> Iterator[Finding]:
    url = f"{known.url(name)}/readyz"
    try:
        readiness = httpx.get(url, timeout=TIMEOUT_SECONDS).json()
    except (httpx.HTTPError, ValueError):
        readiness = None
    yield checkup.check_service(name, readiness)


def _nodes(known: Endpoints) -> dict[str, tuple[int | None, list[str]]]:
    """Return each network's chain id, where it is known, and its nodes."""
    found: dict[str, tuple[int | None, list[str]]] = {
        row["name"]: (int(row["chain_id"]), list(row["rpc_urls"]))
        for row in known.stack.get("networks", ())
    }
    configured: Mapping[str, list[str]] = json.loads(known.environment.get(NODES_VARIABLE) or "{}")
    for name, urls in configured.items():
        chain_id, _ = found.get(name, (None, []))
        found[name] = (chain_id, list(urls))
    return found


def _check_nodes(nodes: Mapping[str, tuple[int | None, list[str]]]) -> Iterator[Finding]:
    if not nodes:
        yield checkup.warning("nodes", "no node is known", f"set {NODES_VARIABLE}")
    for network, (expected, urls) in nodes.items():
        for url in urls:
            try:
                found: int | str = NodeRpc(url).chain_id()
            except NodeFailed as error:
                found = str(error)
            yield checkup.check_node(network, url, expected=expected, found=found)


def _networks(context: typer.Context) -> Iterator[Finding]:
    for report in internal(context, ServiceName.WATCHER).get("/networks")["networks"]:
        yield from checkup.check_network(report)


def _settler(
    context: typer.Context, nodes: Mapping[str, tuple[int | None, list[str]]]
) -> Iterator[Finding]:
    settler = internal(context, ServiceName.SETTLER)
    for signer in settler.get("/signers")["signers"]:
        _, urls = nodes.get(signer["network"], (None, []))
        yield from checkup.check_signer(signer, _payouts_of(urls, signer["address"]))
    yield checkup.check_recovery(settler.get("/recovery"))
    yield from checkup.check_stops(settler.get("/payouts/stops")["stops"])
    yield checkup.check_stuck(settler.get("/stuck")["stuck"])


def _payouts_of(urls: list[str], address: str) -> int | None:
    """Return for how many payouts the balance pays the gas, by the first node that answers."""
    for url in urls:
        node = NodeRpc(url)
        try:
            return node.balance(address) // (max(node.gas_price(), 1) * checkup.PAYOUT_GAS)
        except NodeFailed:
            continue
    return None


def _print(finding: Finding) -> None:
    typer.echo(f"{finding.level:<8} {finding.part:<24} {finding.text}")
    if finding.to_do:
        typer.echo(f"{'':<33} to do: {finding.to_do}")


def _row(finding: Finding) -> dict[str, str]:
    return {
        "part": finding.part,
        "level": finding.level.value,
        "text": finding.text,
        "to_do": finding.to_do,
    }
