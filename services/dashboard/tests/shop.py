"""A real api with organizations, and a dashboard in front of it, for tests."""

from __future__ import annotations

import json
import os
import re
import sys
from base64 import b64encode
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

import httpx
from argon2 import PasswordHasher
from pydantic import SecretStr
from starlette.applications import Starlette

from swap_api.read_model.store.swaps import PostgresReadModel
from swap_api.swaps.adapters.rendering import JsonRendering
from swap_api.swaps.usecases.store_swaps import StoreSwaps
from swap_chains.evm.codec import checksum_address
from swap_contracts.quoting import AssetRef
from swap_contracts.swaps import SwapChanged, SwapTransaction
from swap_contracts.topics import SWAP_CHANGED
from swap_dashboard.adapters.api import HttpApi
from swap_dashboard.adapters.bench import HttpBench
from swap_dashboard.adapters.passwords import Argon2Passwords
from swap_dashboard.app import DashboardBuilder, Parts
from swap_dashboard.settings import DashboardSettings
from swap_domain.catalogue import NATIVE
from swap_runtime.catalogue import load_catalogue
from swap_runtime.postgres.database import create_engine
from swap_runtime.postgres.sql import sql
from swap_runtime.process.service import Service
from swap_runtime.public_catalogue import public_catalogue
from swap_stack.sandbox.bench import Bench
from swap_stack.sandbox.settings import Settings as BenchSettings
from tests.plugins.postgres import Database, emptying
from tests.plugins.processes import Program, accepts, free_port
from tests.support import networks, swaps
from tests.support.serving import serve

OPERATOR: Final = "an operator's token"
SEALING_KEY: Final = b64encode(b"d" * 32).decode()
PASSWORD: Final = "correct horse battery"
ACCOUNT_TABLES: Final = (
    "account, membership, session, sign_in_link, sign_in_failure, second_factor, recovery_code, "
    "pending_sign_in"
)
QUICK: Final = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
FORM_TOKEN: Final = re.compile(r'name="form_token" value="([^"]+)"')
TREASURY: Final = "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512"
DEPOSITORY: Final = "0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0"
STREAMS: Final = 20
SIGNER: Final = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
PAYER: Final = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
RECEIVER: Final = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
COIN: Final = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
E18: Final = 10**18
SOURCE: Final = AssetRef(network="ETHEREUM_DEVNET", token=NATIVE, decimals=18)
ADD_MESSAGE: Final = sql("""
INSERT INTO webhook_message (id, swap_id, endpoint_id, sequence, app_id, event_type, body, state,
                             attempts, due_at, created_at, ended_at)
VALUES (:id, :swap_id, :endpoint_id, 1, :app_id, 'swap.completed', :body, :state, :attempts, :at,
        :at, :at)
""")
ADD_ATTEMPT: Final = sql("""
INSERT INTO delivery_attempt (message_id, attempt, at, milliseconds, http_status, error,
                              request_headers, response_headers, response_body,
                              response_body_is_cut)
VALUES (:id, 1, :at, 12, 200, :text, CAST(:headers AS jsonb), CAST(:headers AS jsonb), :text, true)
""")
CLAIM_MESSAGE: Final = sql("""
UPDATE webhook_message SET state = 'waiting', ended_at = NULL, claim = gen_random_uuid(),
                           due_at = now() + interval '1 hour'
WHERE id = :id RETURNING id
""")
FIRST_DELIVERY: Final = sql(
    "UPDATE endpoint SET first_delivered_at = :at WHERE id = :endpoint_id RETURNING id"
)
DESTINATION: Final = AssetRef(network="BASE_DEVNET", token=COIN, decimals=6)


def a_network(name: str, chain_id: int) -> dict[str, Any]:
    return networks.a_network(
        name,
        chain_id,
        networks.ETH,
        {"symbol": "USDC", "contract": COIN, "decimals": 6},
        display_name=name.removesuffix("_DEVNET").title(),
        contracts={
            "treasury": TREASURY,
            "depository": DEPOSITORY,
            "deposit_addresses": {"factory": DEPOSITORY, "init_code_hash": "0x" + "11" * 32},
        },
        signers=[SIGNER],
        funders=[],
    )


def a_catalogue() -> dict[str, Any]:
    return {
        "environment": "test",
        "networks": [a_network("ETHEREUM_DEVNET", 31337), a_network("BASE_DEVNET", 31338)],
        "routes": [networks.a_route()],
    }


def a_swap(app_id: str, **changes: Any) -> SwapChanged:
    at = datetime.now(UTC) - timedelta(minutes=1)
    values: dict[str, Any] = {
        "app_id": UUID(app_id),
        "reference_id": None,
        "source_address": PAYER,
        "destination_address": RECEIVER,
        "expires_at": at + timedelta(hours=6),
        "quote_expires_at": at + timedelta(minutes=5),
    }
    return swaps.a_swap(SOURCE, DESTINATION, at, **{**values, **changes})


def a_transaction(kind: str, **changes: Any) -> SwapTransaction:
    is_input = kind == "input"
    values: dict[str, Any] = {
        "type": kind,
        "status": "completed",
        "transaction_hash": "0x" + uuid4().hex * 2,
        "from_address": PAYER if is_input else TREASURY,
        "to_address": TREASURY if is_input else RECEIVER,
        "base_units": str(E18) if is_input else "2996000000",
        "block_number": None,
    }
    asset, at = SOURCE if is_input else DESTINATION, datetime.now(UTC) - timedelta(seconds=40)
    return swaps.a_transaction(asset, at, **{**values, **changes})


@dataclass(frozen=True, slots=True)
class Api:
    """The api as a separate process, on a real Postgres."""

    url: str
    internal_url: str
    database: Database
    catalogue_file: Path

    def order(self, path: str, body: Mapping[str, Any]) -> Any:
        """Send an order of an operator."""
        return self._request(f"{self.internal_url}/admin/management/v1{path}", OPERATOR, body)

    def operator_get(self, path: str) -> Any:
        return self._request(f"{self.internal_url}/admin/management/v1{path}", OPERATOR, None)

    def as_member(self, token: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        return self._request(f"{self.url}/management/v1{path}", token, body)

    def call_api(
        self, key: str, method: str, path: str, body: Mapping[str, Any] | None = None
    ) -> httpx.Response:
        """Send a request of the app's server."""
        headers = {"X-SVC-APIKEY": key}
        return httpx.request(method, f"{self.url}{path}", json=body, headers=headers, timeout=20)

    def invite(self, organization_id: str, role: str = "owner", *, name: str = "") -> str:
        body = {"name": name or role, "role": role}
        return str(self.order(f"/organizations/{organization_id}/invitations", body)["token"])

    def an_organization(self, name: str) -> str:
        return str(self.order("/organizations", {"name": name})["id"])

    def an_app(self, organization_id: str, name: str = "web", environment: str = "test") -> str:
        body = {"name": name, "environment": environment}
        return str(self.order(f"/organizations/{organization_id}/apps", body)["id"])

    async def store(self, *swaps: SwapChanged) -> None:
        """Store swaps as the api does when the settler publishes them."""
        catalogue = load_catalogue(self.catalogue_file, checksum_address)
        rendering = JsonRendering(catalogue, public_catalogue(catalogue))
        engine = create_engine(SecretStr(self.database.url("api")), application_name="test")
        try:
            for swap in swaps:
                message = SWAP_CHANGED.seal(
                    swap, version=swap.sequence, occurred_at=swap.changed_at, trace_id="trace"
                )
                await StoreSwaps(PostgresReadModel(engine, consumer="api"), rendering)([message])
        finally:
            await engine.dispose()

    async def claim_message(self, message_id: str) -> None:
        """Begin another attempt, as the notifier does, and never record it."""
        values = {"id": message_id}
        engine = create_engine(SecretStr(self.database.url("notifier")), application_name="test")
        try:
            async with engine.begin() as connection:
                await connection.execute(CLAIM_MESSAGE, values)
        finally:
            await engine.dispose()

    async def store_message(
        self,
        endpoint_id: str,
        app_id: str,
        swap_id: UUID,
        text: str,
        *,
        is_first: bool = False,
        attempts: int = 1,
        state: str = "delivered",
        at: datetime | None = None,
    ) -> str:
        """Store a message about a swap, as the notifier does.

        :param text: the value of all fields that a receiver or a swap can choose.
        :param is_first: whether this is the first delivery of the endpoint.
        :param attempts: that delivered it; without one, a listener's message that is stored only.
        :param at: when it was made, and ended.
        """
        message_id = f"msg_{uuid4().hex}"
        values = {
            "id": message_id,
            "swap_id": swap_id,
            "endpoint_id": UUID(endpoint_id),
            "app_id": UUID(app_id),
            "body": json.dumps({"swap": {"metadata": {"reference_id": text}}}).encode(),
            "headers": json.dumps({"x-receiver": text}),
            "text": text,
            "state": state if attempts else "discarded",
            "attempts": min(attempts, 1),  # a resend restarts the number
            "at": at or datetime.now(UTC),
        }
        engine = create_engine(SecretStr(self.database.url("notifier")), application_name="test")
        try:
            async with engine.begin() as connection:
                await connection.execute(ADD_MESSAGE, values)
                for _ in range(attempts):
                    await connection.execute(ADD_ATTEMPT, values)
                if is_first:
                    await connection.execute(FIRST_DELIVERY, values)
        finally:
            await engine.dispose()
        return message_id

    def _request(self, url: str, token: str, body: Mapping[str, Any] | None) -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        method = "GET" if body is None else "POST"
        answer = httpx.request(method, url, json=body, headers=headers, timeout=20)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]


@contextmanager
def an_api(database: Database, folder: Path) -> Iterator[Api]:
    catalogue_file = folder / "catalogue.json"
    catalogue_file.write_text(json.dumps(a_catalogue()))
    port, internal, notifying = free_port(), free_port(), free_port()
    shared = {
        **os.environ,
        "SWAP_KAFKA__BOOTSTRAP_SERVERS": "127.0.0.1:1",
        "SWAP_REDIS__URL": "redis://127.0.0.1:1/0",
        "SWAP_OPERATOR__TOKEN": OPERATOR,
        "SWAP_CATALOGUE": str(catalogue_file),
    }
    notifier = Program(
        [sys.executable, "-m", "swap_notifier"],
        log=folder / "notifier.log",
        ready=lambda: accepts(notifying),
        environment={
            **shared,
            "SWAP_NOTIFIER__DATABASE_URL": database.url("notifier"),
            "SWAP_NOTIFIER__INTERNAL_PORT": str(notifying),
            "SWAP_NOTIFIER__SECRET_KEYS": json.dumps([SEALING_KEY]),
            "SWAP_NOTIFIER__ALLOW_LOOPBACK": "true",
        },
    )
    program = Program(
        [sys.executable, "-m", "swap_api"],
        log=folder / "api.log",
        ready=lambda: accepts(port),
        environment={
            **shared,
            "SWAP_API__NOTIFIER_URL": f"http://127.0.0.1:{notifying}",
            "SWAP_API__DATABASE_URL": database.url("api"),
            "SWAP_API__PORT": str(port),
            "SWAP_API__INTERNAL_PORT": str(internal),
            "SWAP_API__QUOTER_URL": "http://127.0.0.1:1",
            "SWAP_API__KEY_PEPPER": "a pepper for tests",
            "SWAP_API__PAY_PAGE_URL": "https://pay.example/pay",
            "SWAP_API__LIMITS_LIFTED": "true",
        },
    )
    notifier.start()
    program.start()
    try:
        yield Api(
            f"http://127.0.0.1:{port}", f"http://127.0.0.1:{internal}", database, catalogue_file
        )
    finally:
        program.stop()
        notifier.stop()


@asynccontextmanager
async def a_bench(api: Api, folder: Path) -> AsyncIterator[str]:
    """Serve the test bench of the development stack, without any actions."""
    partners = folder / "partners.json"
    partners.write_text(json.dumps([{"name": "sandbox", "app_id": "", "api_key": "svc_test_1"}]))
    settings = BenchSettings(
        gateway=api.url,
        nodes={},
        partners=partners,
        keys=folder / "keys",
        journal=folder / "paid",
        received=folder / "received.jsonl",
        host="127.0.0.1",
        port=0,
    )
    async with serve(Starlette(routes=Bench(settings).routes())) as url:
        yield url


class Dashboard:
    """The dashboard in this process, in front of the api, with a clock that a test sets."""

    def __init__(
        self, database: Database, api: Api, *, public_url: str, bench_url: str = "", **more: Any
    ) -> None:
        self.ahead = timedelta(0)
        self.public_url = public_url
        settings = DashboardSettings.model_validate(
            {
                "operator": {"token": OPERATOR},
                "dashboard": {
                    "database_url": database.url("dashboard"),
                    "internal_port": 0,
                    "port": 0,
                    "public_url": public_url,
                    "api_url": api.url,
                    "secret_keys": [SEALING_KEY],
                    **more,
                },
            }
        )
        self.service = Service(
            "dashboard", settings, settings.dashboard, publishes=False, clock=self.clock
        )
        self.http = HttpApi(api.url, answer_seconds=10, streams_max=STREAMS)
        self.bench = HttpBench(bench_url) if bench_url else None
        self.parts: Parts = DashboardBuilder(
            self.service,
            settings.dashboard,
            self.http,
            Argon2Passwords(QUICK),
            bench=self.bench,
        ).parts()

    def clock(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def browser(self, address: str = "203.0.113.7") -> Browser:
        return Browser(self, address)

    async def forget_accounts(self) -> None:
        """Forget what other tests left: all have one database, also with times ahead of ours."""
        async with self.service.engine.begin() as connection:
            await connection.execute(sql(emptying(ACCOUNT_TABLES)))

    async def close(self) -> None:
        await self.http.close()
        if self.bench is not None:
            await self.bench.close()
        await self.parts.pay.close()
        await self.parts.status.close()
        await self.service.engine.dispose()


@asynccontextmanager
async def served_dashboard(
    database: Database, api: Api, *, port: int = 0, **options: Any
) -> AsyncIterator[Dashboard]:
    """Serve a dashboard to browsers, at its public URL.

    :param port: by default a free one.
    """
    port = port or free_port()
    made = Dashboard(database, api, public_url=f"http://127.0.0.1:{port}", **options)
    await made.forget_accounts()
    async with serve(made.parts.site, port):
        yield made
    await made.close()
    if made.parts.provider is not None:
        await made.parts.provider.close()


class Browser:
    """A browser without scripts: it stores cookies, and fills in forms."""

    def __init__(self, dashboard: Dashboard, address: str) -> None:
        self.client = httpx.AsyncClient(
            transport=httpx.ASGITransport(dashboard.parts.site, client=(address, 1234)),
            base_url=dashboard.public_url,
            headers={"user-agent": "Mozilla/5.0 (X11; Linux x86_64) Chromium/140.0"},
        )

    async def get(self, path: str, **options: Any) -> httpx.Response:
        return await self.client.get(path, **options)

    async def submit(
        self, path: str, fields: Mapping[str, str], *, page: str | None = None
    ) -> httpx.Response:
        """Send a form with the token of its page."""
        shown = await self.client.get(page or path)
        found = FORM_TOKEN.search(shown.text)
        token = found[1] if found else ""
        return await self.client.post(path, data={**fields, "form_token": token})

    async def join(self, invitation: str, email: str, password: str = PASSWORD) -> None:
        """Create an account, and stay signed in."""
        fields = {"invitation": invitation, "email": email, "password": password}
        answer = await self.submit("/join", fields)
        assert answer.status_code == 303, answer.text

    async def sign_in(self, email: str, password: str = PASSWORD, **more: str) -> httpx.Response:
        return await self.submit("/sign-in", {"email": email, "password": password, **more})
