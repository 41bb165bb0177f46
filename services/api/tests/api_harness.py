"""The api under test: real adapters, requests in process, counted statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import orjson
from fake_chains import (
    FakeChains,
    FakeChainTransactions,
    FakeDepositAddresses,
    FakeDepositories,
    FakeWallets,
)
from fake_pricing import FakePricing
from pydantic import TypeAdapter
from starlette.routing import Match, Route, Router

from swap_api.app import Parts, build_parts
from swap_api.funding.build import FundingChains
from swap_api.http.endpoints import Endpoint
from swap_api.http.openapi import refusals_of
from swap_api.model.keys import Allowances, Environment, KeyKind
from swap_api.settings import ApiSettings
from swap_api.swaps.build import Guards
from swap_runtime.catalogue import load_catalogue
from swap_runtime.postgres.database import reading
from swap_runtime.postgres.sql import sql
from swap_runtime.process.service import Service
from swap_runtime.screening import BlockList, Party, Verdict

PEPPER = "a pepper for tests"
ADAPTERS: dict[tuple[str, str], TypeAdapter[Any]] = {}  # of the endpoints' answers


@dataclass(frozen=True, slots=True)
class App:
    """One app of a partner, with a key."""

    id: UUID
    key: str
    key_id: UUID
    organization_id: UUID

    @property
    def headers(self) -> dict[str, str]:
        return {"X-SVC-APIKEY": self.key}


@dataclass
class Statements:
    texts: list[str] = field(default_factory=list)
    commits: int = 0


def endpoint_at(
    app: Router, endpoints: Sequence[Endpoint], method: str, path: str
) -> Endpoint | None:
    """Return the endpoint of a request."""
    scope = {"type": "http", "method": method, "path": path}
    for route in app.routes:
        if route.matches(scope)[0] is Match.FULL:
            assert isinstance(route, Route)
            return next((one for one in endpoints if is_route_of(route, one)), None)
    return None


def is_route_of(route: Route, endpoint: Endpoint) -> bool:
    return route.path == endpoint.path and endpoint.method in (route.methods or ())


class DocumentChecks:
    """Checks every answer of a test against the OpenAPI document of its endpoint."""

    def __init__(self, app: Router, endpoints: Sequence[Endpoint]) -> None:
        self._app = app
        self._endpoints = endpoints

    async def __call__(self, response: httpx.Response) -> None:
        request = response.request
        endpoint = endpoint_at(self._app, self._endpoints, request.method, request.url.path)
        if endpoint is None:
            return
        content_type = response.headers.get("content-type", "")
        if request.method in ("HEAD", "OPTIONS") or not content_type.startswith("application/json"):
            return
        content = orjson.loads(await response.aread())
        error = content["error"]
        if error is None:
            if "data" in content:
                self._adapter(endpoint).validate_python(content["data"])
            return
        documented = refusals_of(endpoint).get(response.status_code, ())
        assert error["code"] in documented, (endpoint.path, error["code"])

    def _adapter(self, endpoint: Endpoint) -> TypeAdapter[Any]:
        key = (endpoint.method, endpoint.path)
        if key not in ADAPTERS:
            ADAPTERS[key] = TypeAdapter(endpoint.answers)
        return ADAPTERS[key]


class Harness:
    def __init__(
        self,
        service: Service,
        parts: Parts,
        quoter: FakePricing,
        *,
        chains: FakeChains,
        factories: FakeDepositAddresses,
        depositories: FakeDepositories,
        wallets: FakeWallets,
        transactions: FakeChainTransactions,
    ) -> None:
        self.transactions = transactions
        self.chains = chains
        self.wallets = wallets
        self.factories = factories
        self.depositories = depositories
        self.service = service
        self.parts = parts
        self.quoter = quoter
        self.client = httpx.AsyncClient(
            transport=httpx.ASGITransport(parts.app, client=("203.0.113.7", 1234)),
            base_url="http://api",
            event_hooks={"response": [DocumentChecks(parts.app, parts.endpoints)]},
        )

    def endpoint_at(self, method: str, path: str) -> Endpoint:
        endpoint = endpoint_at(self.parts.app, self.parts.endpoints, method, path)
        assert endpoint is not None
        return endpoint

    async def an_app(
        self,
        *,
        kind: KeyKind = KeyKind.SECRET,
        environment: Environment = Environment.TEST,
        is_lifted: bool = True,
        **allowances: Any,
    ) -> App:
        keep = self.parts.management.manage_partners
        organization = await keep.add_organization("partner")
        app = await keep.add_app(
            organization["id"],
            name="app",
            environment=environment,
            allowances=Allowances(is_lifted=is_lifted, **allowances),
        )
        issued = await self.parts.management.manage_keys.issue(app["id"], kind)
        return App(app["id"], issued.key, issued.id, organization["id"])

    async def another_key(self, app: App, kind: KeyKind, **rest: Any) -> App:
        issued = await self.parts.management.manage_keys.issue(app.id, kind, **rest)
        return App(app.id, issued.key, issued.id, app.organization_id)

    async def get(self, app: App, path: str, **options: Any) -> httpx.Response:
        return await self.client.get(f"/api/v2{path}", headers=app.headers, **options)

    async def post(self, app: App, path: str, body: dict[str, Any]) -> httpx.Response:
        return await self.client.post(f"/api/v2{path}", headers=app.headers, json=body)

    async def create(
        self, app: App, body: dict[str, Any], *, key: str | None = None, **headers: str
    ) -> httpx.Response:
        if key is not None:
            headers["Idempotency-Key"] = key
        return await self.client.post(
            "/api/v2/swaps", json=body, headers={**app.headers, **headers}
        )

    async def rows(self, statement: str, **values: Any) -> list[Any]:
        async with reading(self.service.engine) as connection:
            return await connection.execute(sql(statement), values)

    async def plan(self, statement: str) -> list[str]:
        """Return the generic plan of a statement, for any values."""
        async with reading(self.service.engine) as connection:
            # The extended protocol would need values for the parameters; a simple query does not.
            explained = f"EXPLAIN (GENERIC_PLAN) {statement}".encode()
            cursor = await connection._connection.execute(explained)
            return [line for (line,) in await cursor.fetchall()]

    @contextmanager
    def statements(self) -> Iterator[Statements]:
        """Collect the statements sent to the database meanwhile."""
        seen, engine = Statements(), self.service.engine

        def record_statement(statement: str) -> None:
            if statement == "COMMIT":
                seen.commits += 1
            else:
                seen.texts.append(statement)

        engine.statement_listener = record_statement
        try:
            yield seen
        finally:
            engine.statement_listener = None

    async def stop(self) -> None:
        await self.client.aclose()
        await self.parts.admission.counters.close()
        await self.service.engine.dispose()


def start(database_url: str, redis_url: str, catalogue_file: Path, **api: Any) -> Harness:
    settings = ApiSettings.model_validate(
        {
            "kafka": {"bootstrap_servers": "127.0.0.1:1"},
            "redis": {"url": redis_url},
            "operator": {"token": "operator"},
            "catalogue": catalogue_file,
            "api": {
                "database_url": database_url,
                "internal_port": 0,
                "port": 0,
                "quoter_url": "http://127.0.0.1:1",
                "key_pepper": PEPPER,
                **api,
            },
        }
    )
    service = Service("api", settings, settings.api)
    catalogue = load_catalogue(settings.catalogue, str)
    quoter = FakePricing(catalogue)
    chains, addresses, wallets = FakeChains(), FakeDepositAddresses(), FakeWallets()
    depositories, transactions = FakeDepositories(), FakeChainTransactions()
    parts = build_parts(
        service,
        settings.api,
        catalogue,
        FundingChains(
            gasless=chains,
            allowances=chains,
            wallets=wallets,
            deposit_addresses=addresses,
            depositories=depositories,
        ),
        Guards.of(service.engine, catalogue, blocked=ReadList(service.engine)),
        pricing=quoter,
        transactions=transactions,
    )
    return Harness(
        service,
        parts,
        quoter,
        chains=chains,
        factories=addresses,
        depositories=depositories,
        wallets=wallets,
        transactions=transactions,
    )


class ReadList(BlockList):
    """An empty list of blocked addresses that was read before."""

    def _verdict(self, party: Party) -> Verdict:
        verdict = super()._verdict(party)
        return Verdict.CLEAR if verdict is Verdict.UNKNOWN else verdict
