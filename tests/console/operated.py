"""Real services with operators, and a console before them, for tests."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import httpx
from pydantic import SecretStr

from services.dashboard.tests.shop import SEALING_KEY, a_catalogue
from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.integration.test_loss_budget import lost
from services.settler.tests.lane_harness import DESTINATION, SOURCE, World, a_deposit
from swap_dashboard.console.adapters.operator_api import HttpServices
from swap_dashboard.console.app import build_parts
from swap_dashboard.console.ports import ServiceName
from swap_dashboard.console.settings import ConsoleGroup
from swap_runtime.postgres.database import create_engine
from swap_runtime.postgres.sql import sql
from tests.plugins.invariants import FOLDER, make_views
from tests.plugins.postgres import Database
from tests.plugins.processes import Program, accepts, free_port

TOKENS: Final = {name: f"{name}-{'0123456789abcdef' * 3}" for name in ("ann", "ben", "vic", "hook")}
ROLES: Final = {"ann": "operator", "ben": "operator", "vic": "viewer", "hook": "service"}
HIDDEN: Final = {
    name: re.compile(rf'name="{name}" value="([^"]+)"')
    for name in ("form_token", "order_id", "made_at")
}
OWNER: Final = "0x0000000000000000000000000000000000000077"
BAD: Final = "0x0000000000000000000000000000000000000088"
AWAY: Final = "http://127.0.0.1:1"
HOSTILE: Final = '<script>document.title="run"</script><img src=x onerror=document.title="run">'
PARK: Final = sql("""
INSERT INTO parked (consumer, topic, key, value, partition, "offset", message_id, reason, is_behind)
VALUES ('settler', 'deposit.changed.v1', :key, :value, 0, :offset, :id, :reason, false)
RETURNING id
""")
HALT: Final = sql("""
UPDATE signer SET halted_reason = :reason, halted_at = now() WHERE network = :network
""")
ACCOUNT: Final = sql("""
INSERT INTO account (id, email, password_hash, created_at) VALUES (:id, :email, 'none', now())
""")
FACTOR: Final = sql("""
INSERT INTO second_factor (account_id, sealed_secret, begun_by, created_at, confirmed_at)
SELECT id, 'sealed', id, now(), now() FROM account WHERE email = :email AND id = :id
""")
SUSPEND: Final[Mapping[str, Any]] = {
    "kind": "native_received",
    "sequence_number": None,
    "memo_swap_id": None,
}


@dataclass(frozen=True, slots=True)
class Services:
    """Processes on one database, and what an operator finds there."""

    database: Database
    urls: Mapping[ServiceName, str]

    def ask(
        self,
        name: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        service: ServiceName = ServiceName.SETTLER,
    ) -> Any:
        """Do what an operator does without the console."""
        headers = {"Authorization": f"Bearer {TOKENS[name]}"}
        url = f"{self.urls[service]}/admin{path}"
        method = "GET" if body is None else "POST"
        answer = httpx.request(method, url, json=body, headers=headers, timeout=20)
        assert answer.is_success, answer.text
        return answer.json()

    def signing_stops(self) -> list[Any]:
        """Return what operators stopped: the seeded loss stops a network, too."""
        stops = self.ask("vic", "/payouts/stops")["stops"]
        return [one for one in stops if one["kind"] == "signing"]

    async def park(self, reason: str, *, value: bytes | None = None) -> int:
        """Set a message aside, as the settler does with one that fails."""
        payload = {"deposit_id": str(uuid4()), "state": "confirmed", "memo": HOSTILE}
        envelope = {"message_id": str(uuid4()), "trace_id": "trace", "payload": payload}
        values = {
            "key": str(uuid4()).encode(),
            "value": value or json.dumps(envelope).encode(),
            "offset": uuid4().int % 10**9,
            "id": uuid4(),
            "reason": reason,
        }
        return int(await self._scalar(PARK, values))

    async def halt_signer(self, reason: str) -> None:
        await self._scalar(HALT, {"reason": reason, "network": DESTINATION})

    async def add_second_factor(self, email: str) -> None:
        """Make an account with a second factor, which no device knows."""
        values = {"id": uuid4(), "email": email}
        await self._scalar(ACCOUNT, values, schema="dashboard")
        await self._scalar(FACTOR, values, schema="dashboard")

    async def scalar(self, query: str) -> Any:
        return await self._scalar(sql(query), {})

    async def _scalar(
        self, statement: Any, values: Mapping[str, Any], *, schema: str = "settler"
    ) -> Any:
        url = SecretStr(self.database.url(schema))
        engine = create_engine(url, application_name="test")
        try:
            async with engine.begin() as connection:
                rows = await connection.execute(statement, values)
        finally:
            await engine.dispose()
        return rows[0][0] if rows else None

    async def seed(self) -> None:
        """Fill the ledger: swaps that are paid, one that is lost, and money without a swap."""
        async with opened_world(self.database.url("settler"), DESTINATION) as world:
            await world.confirmed_swaps(2, first=10)
            await lost(world)
            await self.suspend(world, 90)

    async def suspend(self, world: World, number: int) -> None:
        await world.settle(a_deposit(number, base_units="1234567890123456789", **SUSPEND))

    async def suspended(self, number: int) -> str:
        """Receive money without a swap, and return the id of its balance."""
        before = {row["id"] for row in self.ask("vic", "/claimable")["claimable"]}
        url = self.database.url("settler")
        async with opened_world(url, DESTINATION, beside_another=True) as world:
            await self.suspend(world, number)
        rows = self.ask("vic", "/claimable")["claimable"]
        return str(next(row["id"] for row in rows if row["id"] not in before))


@contextmanager
def operated(database: Database, folder: Path) -> Iterator[Services]:
    """Serve what operators ask. No node, broker or price answers: what is at stake has no price."""
    make_views(database.superuser_url, {SOURCE: 1, DESTINATION: 1})
    catalogue_file = folder / "catalogue.json"
    catalogue_file.write_text(json.dumps(a_catalogue()))
    entries = [
        {"name": name, "role": ROLES[name], "token_sha256": sha256(token.encode()).hexdigest()}
        for name, token in TOKENS.items()
    ]
    shared = {
        **os.environ,
        "SWAP_KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:1",
        "SWAP_REDIS__URL": "redis://127.0.0.1:1/0",
        "SWAP_OPERATORS": json.dumps(entries),
        "SWAP_CATALOGUE": str(catalogue_file),
        "SWAP_SETTLER__QUOTER_URL": AWAY,
        "SWAP_SETTLER__INVARIANT_QUERIES": str(FOLDER / "queries.sql"),
        "SWAP_API__QUOTER_URL": AWAY,
        "SWAP_API__NOTIFIER_URL": AWAY,
        "SWAP_API__NOTIFIER_TOKEN": TOKENS["hook"],
        "SWAP_API__KEY_PEPPER": "a pepper for tests",
        "SWAP_API__PORT": str(free_port()),
        "SWAP_DASHBOARD__PORT": str(free_port()),
        "SWAP_DASHBOARD__PUBLIC_URL": "http://dashboard.test",
        "SWAP_DASHBOARD__API_URL": AWAY,
        "SWAP_DASHBOARD__SECRET_KEYS": json.dumps([SEALING_KEY]),
    }
    shared.pop("SWAP_OPERATOR__TOKEN", None)
    ports = {name: free_port() for name in ("settler", "chain_watcher", "api", "dashboard")}
    programs = [
        _program(name, port, {**shared, **_own(name, port, database)}, folder)
        for name, port in ports.items()
    ]
    urls = dict.fromkeys(ServiceName, AWAY)
    urls |= {ServiceName(name): f"http://127.0.0.1:{port}" for name, port in ports.items()}
    try:
        for program in programs:
            program.start()
        yield Services(database, urls)
    finally:
        for program in programs:
            program.stop()


def _program(name: str, port: int, environment: Mapping[str, str], folder: Path) -> Program:
    return Program(
        [sys.executable, "-m", f"swap_{name}"],
        log=folder / f"{name}.log",
        ready=lambda: accepts(port),
        environment=environment,
    )


def _own(name: str, port: int, database: Database) -> dict[str, str]:
    prefix = f"SWAP_{name.upper()}__"
    return {f"{prefix}DATABASE_URL": database.url(name), f"{prefix}INTERNAL_PORT": str(port)}


class Console:
    """The console in this process, with a clock that a test turns."""

    def __init__(self, services: Services, *, public_url: str, **more: Any) -> None:
        self.ahead = timedelta(0)
        self.public_url = public_url
        urls = {f"{name.value}_url": url for name, url in services.urls.items()}
        group = ConsoleGroup.model_validate(
            {"port": 0, "internal_port": 0, "public_url": public_url, **urls, **more}
        )
        self.http = HttpServices(group.service_urls(), answer_seconds=10, order_seconds=30)
        self.parts = build_parts(group, self.http, clock=self.clock)

    def clock(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def browser(self, address: str = "203.0.113.7") -> Browser:
        return Browser(self, address)

    async def signed_in(self, name: str, address: str = "203.0.113.7") -> Browser:
        browser = self.browser(address)
        answer = await browser.sign_in(TOKENS[name])
        assert answer.status_code == 303, answer.text
        return browser


class Browser:
    """A browser without scripts: it keeps cookies, and fills in forms."""

    def __init__(self, console: Console, address: str) -> None:
        self.client = httpx.AsyncClient(
            transport=httpx.ASGITransport(console.parts.site, client=(address, 1234)),
            base_url=console.public_url,
            headers={"user-agent": "A test"},
        )

    async def get(self, path: str, **options: Any) -> httpx.Response:
        return await self.client.get(path, **options)

    async def sign_in(self, token: str, **more: str) -> httpx.Response:
        return await self.submit("/sign-in", {"token": token, **more})

    async def submit(
        self, path: str, fields: Mapping[str, str], *, page: str | None = None
    ) -> httpx.Response:
        """Send a form with the token that its page gives."""
        hidden = await self.hidden(page or path)
        return await self.client.post(path, data={**hidden, **fields})

    async def hidden(self, page: str) -> dict[str, str]:
        """Return what the first form of a page carries unseen."""
        shown = (await self.client.get(page)).text
        return {name: found[1] for name, field in HIDDEN.items() if (found := field.search(shown))}

    async def review(self, path: str, fields: Mapping[str, str], *, page: str) -> str:
        """Send the form of an order, and return where it is shown before it is sent."""
        answer = await self.submit(path, {"reason": "as agreed", **fields}, page=page)
        assert answer.status_code == 303, answer.text
        return answer.headers["location"]

    async def confirm(self, order: str) -> str:
        """Confirm what is shown, and return how it ended."""
        answer = await self.submit(order, {})
        assert answer.status_code == 303, answer.text
        return (await self.get(order)).text
