"""Real services with operators, and a console before them, for tests."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import httpx
import psycopg
from pydantic import SecretStr

from services.dashboard.tests.shop import SEALING_KEY, a_catalogue
from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.integration.test_loss_budget import lost, paid_for
from services.settler.tests.integration.test_partner_fees import Worlds
from services.settler.tests.lane_harness import (
    DESTINATION,
    NOW,
    SOURCE,
    World,
    a_deposit,
    a_request,
)
from swap_dashboard.console.adapters.operator_api import HttpServices
from swap_dashboard.console.app import build_parts
from swap_dashboard.console.ports import ServiceName
from swap_dashboard.console.settings import ConsoleGroup
from swap_runtime.operators.admin_routes import AdminRoute, OrderRoute
from swap_runtime.operators.identities import Operator, Role
from swap_runtime.postgres.database import Engine, create_engine
from swap_runtime.postgres.sql import sql
from tests.console.guide import GUIDE
from tests.plugins.internal_port import internal_port
from tests.plugins.invariants import FOLDER, make_views
from tests.plugins.postgres import Database
from tests.plugins.processes import Program, accepts, free_port

ADDRESS: Final = "http://console.test"
TOKENS: Final = {name: f"{name}-{'0123456789abcdef' * 3}" for name in ("ann", "ben", "vic", "hook")}
ROLES: Final = {"ann": "operator", "ben": "operator", "vic": "viewer", "hook": "service"}
HIDDEN: Final = {
    name: re.compile(rf'name="{name}" value="([^"]+)"')
    for name in ("form_token", "order_id", "made_at")
}
OWNER: Final = "0x0000000000000000000000000000000000000077"
BAD: Final = "0x0000000000000000000000000000000000000088"
UNAVAILABLE_URL: Final = "http://127.0.0.1:1"
SCRIPT: Final = '<script>document.title="run"</script><img src=x onerror=document.title="run">'
HOSTILE: Final = "" if GUIDE else SCRIPT  # pictures have plain texts
PARK: Final = sql("""
INSERT INTO parked (consumer, topic, key, value, partition, "offset", message_id, reason, is_behind)
VALUES ('settler', 'deposit.changed.v1', :key, :value, 0, :offset, :id, :reason, false)
RETURNING id
""")
HALT: Final = sql("""
UPDATE signer SET halted_reason = :reason, halted_at = now() WHERE network = :network
""")
IS_REGISTERED: Final = """
SELECT database_id = (SELECT oid::bigint FROM pg_database WHERE datname = current_database())
FROM settler.incarnation ORDER BY id DESC LIMIT 1
"""
HALT_NETWORK: Final = sql("""
INSERT INTO watch_cursor (network, number, hash, parent_hash, time, finalized_number, start_number,
                          checked_number, halt_reason, halted_at)
VALUES (:network, 9, '0x01', '0x00', now(), 9, 0, 9, :reason, now())
""")
RECOVER: Final = sql("""
INSERT INTO recovery (cause, reason) VALUES ('restored', :reason) RETURNING id
""")
RETAIN: Final = sql("""
INSERT INTO retained_hold (recovery_id, deposit_id, kind, network)
SELECT :recovery, id, 'unknown', network FROM deposit WHERE swap_id IS NULL LIMIT 1 RETURNING id
""")
ACCOUNT: Final = sql("""
INSERT INTO account (id, email, password_hash, created_at) VALUES (:id, :email, 'none', now())
""")
FACTOR: Final = sql("""
INSERT INTO second_factor (account_id, sealed_secret, begun_by, created_at, confirmed_at)
SELECT id, 'sealed', id, now(), now() FROM account WHERE email = :email AND id = :id
""")
WITHOUT_SWAP: Final[Mapping[str, Any]] = {
    "kind": "native_received",
    "sequence_number": None,
    "memo_swap_id": None,
}


@dataclass(frozen=True, slots=True)
class Services:
    """Processes on one database, and what an operator finds there."""

    database: Database
    urls: Mapping[ServiceName, str]

    def call(
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
        stops = self.call("vic", "/payouts/stops")["stops"]
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
        """Make an account with a second factor that no device has."""
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
        async with self._opened_world() as world:
            await world.confirmed_swaps(2, first=10)
            await lost(world)
            await self.suspend(world, 90)

    def _opened_world(
        self, *, beside_another: bool = False, at: datetime | None = None
    ) -> AbstractAsyncContextManager[World]:
        """Open a lane in the present: the settler abandons payouts that wait for too long."""
        url, at = self.database.url("settler"), at or datetime.now(UTC)
        return opened_world(url, DESTINATION, beside_another=beside_another, at=at)

    async def suspend(self, world: World, number: int) -> None:
        await world.settle(a_deposit(number, base_units="1234567890123456789", **WITHOUT_SWAP))

    async def seed_payments(self) -> dict[str, str]:
        """Seed, with a fee that is owed, and a payment that a cap holds; return the ids of all."""
        cap = {"network": DESTINATION, "token": "ETH", "units": "1", "seconds": 86400}
        async with self._opened_world() as world:
            if self._cap_of_token() is None:  # raising one needs a second operator
                self.call("ann", "/caps", {**cap, "units": "9" * 30, "reason": "it counts"})
            await Worlds(world, world).earned(96)  # alone: one transaction pays what waits
            await world.confirmed_swaps(2, first=10)
            await paid_for(world, 1)
            self.call("ann", "/caps", {**cap, "reason": "nothing is to leave"})
            await world.confirmed_swaps(1, first=97)
            await world.send_everything()
            # Last: the settler stops what is paid for a network that lost a deposit.
            await world.settle(a_deposit(1, version=3, state="reverted"))
            await self.suspend(world, 90)
        # No block after its deadline was seen, so it does not expire: it is stuck.
        async with self._opened_world(beside_another=True, at=NOW) as world:
            await world.request_swap(98)
        [fee] = self.call("vic", "/fees")["fees"]
        [queued] = self.call("vic", "/payouts/queue")["waiting"]
        ids = {"fee": fee["id"], "queued": queued["intent_id"], "cap": self._cap_of_token()}
        return {name: str(id) for name, id in ids.items()}

    def _cap_of_token(self) -> int | None:
        return next((one["id"] for one in self.call("vic", "/caps")["caps"] if one["token"]), None)

    async def request_swap(self, number: int) -> str:
        """Request a swap that waits for its deposit, and return its id."""
        async with self._opened_world(beside_another=True) as world:
            await world.request_swap(number)
        return str(a_request(number).body.swap_id)

    async def halt_network(self, reason: str) -> None:
        """Stop what is paid for a network, as the chain-watcher does with a contradiction."""
        values = {"reason": reason, "network": DESTINATION}
        await self._scalar(HALT_NETWORK, values, schema="chain_watcher")

    async def begin_recovery(self) -> int:
        """Begin what a restored database begins; without a node it is never proven."""
        return int(await self._scalar(RECOVER, {"reason": f"another server {HOSTILE}"}))

    async def retain_hold(self, recovery: int) -> str:
        """Hold a deposit for which a forgotten swap may have been paid."""
        return str(await self._scalar(RETAIN, {"recovery": recovery}))

    async def receive_without_swap(self, number: int) -> str:
        """Receive money without a swap, and return the id of its balance."""
        before = {row["id"] for row in self.call("vic", "/claimable")["claimable"]}
        async with self._opened_world(beside_another=True) as world:
            await self.suspend(world, number)
        rows = self.call("vic", "/claimable")["claimable"]
        return str(next(row["id"] for row in rows if row["id"] not in before))


@asynccontextmanager
async def only_settler(
    engine: Engine,
    database: Database,
    *,
    reads: Sequence[AdminRoute],
    orders: Sequence[OrderRoute],
) -> AsyncIterator[Services]:
    """Serve some routes of the settler's internal port; no other service answers."""
    tokens = {TOKENS[name]: Operator(name, Role(role)) for name, role in ROLES.items()}
    internal = internal_port(engine, tokens, reads=reads, orders=orders)
    number = await internal.start("127.0.0.1", 0)
    urls = {
        **dict.fromkeys(ServiceName, UNAVAILABLE_URL),
        ServiceName.SETTLER: f"http://127.0.0.1:{number}",
    }
    try:
        yield Services(database, urls)
    finally:
        await internal.stop()


@contextmanager
def serve_operators(database: Database, folder: Path) -> Iterator[Services]:
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
        # No node answers, so the proof of a recovery fails for as long as the tests run.
        "SWAP_WATCHDOG__TASK_FAILURES_MAX": "100000",
        "SWAP_SETTLER__QUOTER_URL": UNAVAILABLE_URL,
        "SWAP_SETTLER__INVARIANT_QUERIES": str(FOLDER / "queries.sql"),
        "SWAP_API__QUOTER_URL": UNAVAILABLE_URL,
        "SWAP_API__NOTIFIER_URL": UNAVAILABLE_URL,
        "SWAP_API__NOTIFIER_TOKEN": TOKENS["hook"],
        "SWAP_API__KEY_PEPPER": "a pepper for tests",
        "SWAP_API__PORT": str(free_port()),
        "SWAP_DASHBOARD__PORT": str(free_port()),
        "SWAP_DASHBOARD__PUBLIC_URL": "http://dashboard.test",
        "SWAP_DASHBOARD__API_URL": UNAVAILABLE_URL,
        "SWAP_DASHBOARD__SECRET_KEYS": json.dumps([SEALING_KEY]),
    }
    shared.pop("SWAP_OPERATOR__TOKEN", None)
    ports = {name: free_port() for name in ("settler", "chain_watcher", "api", "dashboard")}
    programs = [
        Program(
            [sys.executable, "-m", f"swap_{name}"],
            log=folder / f"{name}.log",
            ready=partial(_is_ready, name, port, database),
            environment={**shared, **_own_settings(name, port, database)},
        )
        for name, port in ports.items()
    ]
    urls = dict.fromkeys(ServiceName, UNAVAILABLE_URL)
    urls |= {ServiceName(name): f"http://127.0.0.1:{port}" for name, port in ports.items()}
    try:
        for program in programs:
            program.start()
        yield Services(database, urls)
    finally:
        for program in programs:
            program.stop()


def _is_ready(name: str, port: int, database: Database) -> bool:
    """Whether a service answers. A database with swaps that the settler has not registered is a
    restored one, which begins a recovery: a test seeds after the registration.
    """
    if not accepts(port):
        return False
    if name != "settler":
        return True
    with psycopg.connect(database.superuser_url) as connection:
        row = connection.execute(IS_REGISTERED).fetchone()
    return row is not None and bool(row[0])


def _own_settings(name: str, port: int, database: Database) -> dict[str, str]:
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

    async def sign_in_as(self, name: str, address: str = "203.0.113.7") -> Browser:
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
        hidden = await self.hidden_fields(page or path)
        return await self.client.post(path, data={**hidden, **fields})

    async def hidden_fields(self, page: str) -> dict[str, str]:
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
