"""Every example of the OpenAPI document can be sent, and its schemas match the accepted values."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import psycopg
import pytest
from api_factories import ALICE, HASH, TREASURY, a_body
from api_harness import Harness, start
from eth_account import Account
from eth_account.messages import encode_defunct
from fake_webhooks import FakeWebhooks
from people import a_colleague
from tenants import Tenant, a_tenant, link_token

from swap_api.http.shipped_openapi import shipped_openapi
from swap_api.model.members import Role
from swap_domain.catalogue import NATIVE
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected

DOCUMENT: Final = json.loads(shipped_openapi(key_headers=["X-SVC-APIKEY"], version="1"))
JSON: Final = "application/json"
OF_ALICE: Final = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
DEPOSIT: Final = {
    "id": "7d2f1c9a-4b6e-5f80-9c3d-2e1f0a9b8c7d",
    "version": 2,
    "state": "credited",
    "method": "direct",
    "network": "ETHEREUM_DEVNET",
    "token": NATIVE,
    "base_units": 10**17,
    "is_booked": True,
    "transaction_hash": HASH,
    "block_number": 7,
    "block_hash": HASH,
    "block_time": "2026-01-02T03:04:05Z",
    "from_address": ALICE,
    "to_address": TREASURY,
    "confirmations_required": 1,
    "heard_at": "2026-01-02T03:04:05Z",
}


@dataclass(frozen=True, slots=True)
class Operation:
    method: str
    path: str
    content: Mapping[str, Any]

    @property
    def parameters(self) -> list[Mapping[str, Any]]:
        return [one for one in self.content.get("parameters", ()) if one["in"] == "query"]

    @property
    def body(self) -> Mapping[str, Any]:
        content: Mapping[str, Any] = self.content.get("requestBody", {}).get("content", {})
        return content.get(JSON, {})

    @property
    def query(self) -> dict[str, Any]:
        """Return every parameter that has an example."""
        shown = {one["name"]: one["schema"].get("examples") for one in self.parameters}
        return {name: examples[0] for name, examples in shown.items() if examples}

    def members(self) -> Iterator[tuple[str, str, Mapping[str, Any], bool]]:
        """Yield the location, name and schema of each member, and whether it is required."""
        for one in self.parameters:
            yield "params", one["name"], one["schema"], one["required"]
        schema = self.body.get("schema", {})
        for name, member in schema.get("properties", {}).items():
            yield "json", name, member, name in schema.get("required", ())


OPERATIONS: Final = [
    Operation(method.upper(), path, content)
    for path, operations in DOCUMENT["paths"].items()
    for method, content in operations.items()
]
named = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: f"{one.method} {one.path}")


class Service:
    """A running api with one object of each kind, so that requests can name existing ones."""

    def __init__(self, api: Harness, tenant: Tenant, values: Mapping[str, str]) -> None:
        self._api = api
        self._tenant = tenant
        self._values = values

    async def send(
        self, operation: Operation, query: Mapping[str, Any], body: Mapping[str, Any] | None
    ) -> httpx.Response:
        key, token = self._tenant.secret.key, self._tenant.owner.token
        if operation.path.startswith("/pay/"):
            token = await link_token(self._api, self._tenant, self._values["swapId"])
        return await self._api.client.request(
            operation.method,
            operation.path.format(**self._values),
            params=dict(query),
            json=body,
            headers={"X-SVC-APIKEY": key, "Authorization": f"Bearer {token}"},
        )

    async def known(self, operation: Operation) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Return the examples, with the ids and signatures of this running service."""
        query, body = operation.query, operation.body.get("example")
        match operation.path.rpartition("/")[2]:
            case "authorize" if body is not None:
                body = await self._authorized(body)
            case "attach_deposit":
                query = {name: HASH for name in query}
                body = body and await self._attached(operation, body)
            case "transaction_status":
                query["transaction_id"] = self._values["transactionHash"]
            case "accept" | "inspect":
                body = {**(body or {}), "token": await self._invitation()}
        return query, body

    async def _authorized(self, body: Mapping[str, Any]) -> dict[str, Any]:
        wallet = Account.from_key(OF_ALICE).address
        path = f"/swaps/{self._values['swapId']}/deposit_actions"
        steps = await self._api.get(self._tenant.secret, path, params={"source_address": wallet})
        typed_data = steps.json()["data"][0]["typed_data"]
        signed = Account.sign_typed_data(OF_ALICE, full_message=typed_data)
        return {**body, "signature": str(signed.signature.to_0x_hex()), "signer_address": wallet}

    async def _attached(self, operation: Operation, body: Mapping[str, Any]) -> dict[str, Any]:
        path = operation.path.format(**self._values).removeprefix("/api/v2")
        query = {"transaction_id": HASH}
        shown = await self._api.get(self._tenant.secret, path, params=query)
        text = encode_defunct(text=shown.json()["data"][0]["text"])
        signature = "0x" + Account.sign_message(text, OF_ALICE).signature.hex()
        return {**body, **query, "signature": signature}

    async def _invitation(self) -> str:
        owner = self._tenant.owner
        path = f"/organizations/{owner.organization_id}/invitations"
        return str((await owner.post_ok(path, {"name": "ada", "role": "viewer"}))["token"])


@pytest.fixture
def database_url(database_url: str, database: Database) -> str:
    names, places = ", ".join(DEPOSIT), ", ".join(f"%({name})s" for name in DEPOSIT)
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute("TRUNCATE settler.swap, settler.deposit CASCADE")
        connection.execute(
            f"INSERT INTO settler.deposit ({names}) VALUES ({places})",  # type: ignore[arg-type]
            DEPOSIT,
        )
    return database_url


@pytest.fixture
async def api(database_url: str, redis_url: str, catalogue_file: Path) -> AsyncIterator[Harness]:
    """Allow more changes a minute: each operation gets a tenant, by invitations of one client."""
    rates = {"creates": 10_000}
    harness = start(database_url, redis_url, catalogue_file, rates=rates)
    await harness.parts.funding.offers.deposit_addresses.refresh()
    yield harness
    await harness.stop()


@pytest.fixture
async def webhooks(api: Harness) -> FakeWebhooks:
    fake = FakeWebhooks()
    api.parts.management.manage_webhooks._endpoints = fake
    await api.parts.funding.offers.gasless.refresh()
    return fake


async def service_for(api: Harness, webhooks: FakeWebhooks, operation: Operation) -> Service:
    """Return the service with the kind of swap and member that the operation needs."""
    tenant = await a_tenant(api, webhooks)
    values = dict(tenant.values)
    if operation.method == "POST" or operation.path.endswith(("authorize", "attach_deposit")):
        is_signed = operation.path.endswith("authorize")
        gasless = {"source_token": "USDC", "use_gasless": True, "use_depository": False}
        body = a_body(amount=25.5, **gasless) if is_signed else a_body()
        values["swapId"] = (await api.create(tenant.secret, body)).json()["data"]["swap"]["id"]
    if "memberId" in operation.path:
        values["memberId"] = (await a_colleague(tenant.owner, Role.VIEWER)).id
    service = Service(api, tenant, values)
    if operation.method == "GET" and operation.path.endswith("authorize"):
        [submit] = [o for o in OPERATIONS if (o.method, o.path) == ("POST", operation.path)]
        query, signed = await service.known(submit)
        assert (await service.send(submit, query, signed)).status_code == 200
    return service


@named
async def test_every_example_of_the_document_succeeds(
    api: Harness, webhooks: FakeWebhooks, operation: Operation
) -> None:
    service = await service_for(api, webhooks, operation)
    query, body = await service.known(operation)

    answer = await service.send(operation, query, body)

    assert answer.status_code == 200, answer.text
    assert "x-ignored" not in answer.headers


@named
def test_every_required_member_has_an_example(operation: Operation) -> None:
    sent = {**operation.query, **operation.body.get("example", {})}
    required = {name for _, name, _, is_required in operation.members() if is_required}

    assert required <= set(sent)
    assert not {"amount", "receive_amount"} <= set(sent)


@named
def test_every_operation_declares_400(operation: Operation) -> None:
    shown = operation.content["responses"]["400"]["content"][JSON]["examples"]

    assert "VALIDATION_ERROR" in shown


@named
def test_only_required_members_have_a_smallest_length(operation: Operation) -> None:
    for _, name, schema, is_required in operation.members():
        parts = [schema, schema.get("items", {}), *schema.get("anyOf", ())]
        assert is_required or not any("minLength" in part for part in parts), name


async def test_empty_text_is_accepted_where_the_schema_has_no_smallest_length(
    api: Harness, webhooks: FakeWebhooks
) -> None:
    refused = []
    for operation in OPERATIONS:
        empty = empty_values(operation)
        if not any(empty.values()):
            continue
        service = await service_for(api, webhooks, operation)
        query, body = await service.known(operation)
        with_empty = body if body is None else {**empty["json"], **body}
        answer = await service.send(operation, {**empty["params"], **query}, with_empty)
        if answer.status_code != 200:
            refused.append((operation.method, operation.path, answer.text))

    assert refused == []


async def test_empty_text_is_refused_where_the_schema_has_a_smallest_length(
    api: Harness, webhooks: FakeWebhooks
) -> None:
    count = 0
    for operation in OPERATIONS:
        needed = [
            (where, name)
            for where, name, schema, _ in operation.members()
            if schema.get("minLength", 0) > 0
        ]
        if not needed:
            continue
        service = await service_for(api, webhooks, operation)
        for where, name in needed:
            await _is_refused(service, operation, where, name)
            count += 1

    assert count > 20


def empty_values(operation: Operation) -> dict[str, dict[str, str]]:
    """Return empty text for every optional text member, by location."""
    empty: dict[str, dict[str, str]] = {"params": {}, "json": {}}
    for where, name, schema, is_required in operation.members():
        parts = [schema, schema.get("items", {}), *schema.get("anyOf", ())]
        if not is_required and any(part.get("type") == "string" for part in parts):
            empty[where][name] = ""
    return empty


async def _is_refused(service: Service, operation: Operation, where: str, name: str) -> None:
    query, body = operation.query, operation.body.get("example")
    changed = ({**query, name: ""}, body) if where == "params" else (query, {**body, name: ""})
    answer = await service.send(operation, *changed)

    assert answer.status_code == 400, (operation.path, name, answer.text)
    assert name in answer.json()["error"]["metadata"]["field_errors"]


@pytest.mark.parametrize(
    ("path", "name", "count"),
    [
        ("/api/v2/swaps", "statuses", 14),
        ("/api/v2/swaps/internal", "statuses", 14),
        ("/api/v2/networks", "network_types", 13),
        ("/api/v2/sources", "network_types", 13),
        ("/api/v2/destinations", "network_types", 13),
    ],
)
async def test_lists_of_names_accept_only_their_enum(
    api: Harness, webhooks: FakeWebhooks, path: str, name: str, count: int
) -> None:
    [operation] = [one for one in OPERATIONS if (one.method, one.path) == ("GET", path)]
    [schema] = [one["schema"] for one in operation.parameters if one["name"] == name]
    service = await service_for(api, webhooks, operation)

    accepted = [
        (await service.send(operation, {name: value}, None)).status_code
        for value in schema["items"]["enum"]
    ]
    refused = await service.send(operation, {name: "done"}, None)

    assert accepted == [200] * count
    assert refused.status_code == 400
