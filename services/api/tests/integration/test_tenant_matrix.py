"""Every endpoint, every kind of key, two tenants: made from the declarations of the endpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_type_hints
from uuid import uuid4

import httpx
import pytest
from api_factories import ALICE, a_body
from api_harness import Harness
from fake_webhooks import FakeWebhooks
from tenants import Tenant, a_closed_key, a_tenant, everything_of, link_token

from swap_api.http.endpoints import Endpoint
from swap_api.model.keys import Scope
from swap_api.public_endpoints import Handlers, endpoints

pytestmark = pytest.mark.connected

V2, MANAGE, PAY = "/api/v2", "/management/v1", "/pay/v1"
HANDLERS: Any = get_type_hints(Handlers)
ENDPOINTS = endpoints(HANDLERS)
BY_MEMBERS = (Scope.MEMBER, Scope.SELF)
WITHOUT_KEY = (Scope.NO_KEY, Scope.PAY_LINK)


SOON = "2999-01-01T00:00:00Z"
# Bodies that make a request valid, so that only its owner can be the reason of a refusal.
BODIES: dict[str, dict[str, Any]] = {
    "/swaps": a_body(),
    "/swap_rate": {
        "source": "ETHEREUM_DEVNET",
        "destination": "BASE_DEVNET",
        "source_asset": "ETH",
        "refuel": False,
    },
    "/refund_address": {"refund_address": ALICE},
    "/deposit_speedup": {"transaction_id": "0x" + "5f" * 32},
    "/attach_deposit": {"transaction_id": "0x" + "5f" * 32, "signature": "0x" + "11" * 65},
    "/authorize": {"signature": "0x" + "11" * 65, "signer_address": ALICE},
    "/apps": {"name": "web", "environment": "test"},
    "/expire": {"expires_at": SOON},
    "/role": {"role": "owner"},
    "/name": {"name": "taken over"},
    "/frame_origins": {"origins": ["https://eve.example"]},
    "/allowed_origins": {"origins": ["https://eve.example"]},
    "/invitations": {"name": "eve", "role": "viewer"},
    "/accept": {"token": "svc_invite_" + "0" * 64},
    "/inspect": {"token": "svc_invite_" + "0" * 64},
    "/tokens": {"label": "another"},
    "/webhooks": {"url": "https://shop.example"},
    "/events": {"wants_updates": True, "wants_notices": True},
    "/replay": {"since": "2026-01-01T00:00:00Z"},
    "/{organizationId}": {"name": "Taken over"},
    "/{appId}": {"name": "taken over"},
}
PRICED = (
    "source_network=ETHEREUM_DEVNET&source_token=ETH&destination_network=BASE_DEVNET"
    "&destination_token=USDC&amount=1"
)
QUERIES: dict[str, list[str]] = {
    f"{V2}/swaps": ["", f"address={ALICE}", "include_expired=true", "reference_id={reference}"],
    f"{V2}/swaps/internal": [f"addresses={ALICE}"],
    f"{V2}/swaps/{{swapId}}/attach_deposit": ["transaction_id={transactionHash}"],
    f"{V2}/transaction_status": ["network=ETHEREUM_DEVNET&transaction_id={transactionHash}"],
    f"{V2}/quote": [PRICED],
    f"{V2}/limits": [PRICED],
    f"{V2}/detailed_quote": [PRICED],
}
ENDING_ACTIONS = ("/revoke", "/remove", "/expire", "/rotate")
# They need a signature request, an invitation and a transfer without a swap, which do not exist
# here.
UNPREPARED = ("/authorize", "/accept", "/inspect", "/attach_deposit")
REFUSED_TO_ALL = {400, 401, 403, 404, 500, 503}


def name_of(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {endpoint.path}"


def requests_of(endpoint: Endpoint, values: Mapping[str, str], reference: str) -> list[Any]:
    """Return every request that the matrix makes of an address."""
    path = endpoint.path.format(**values)
    end = endpoint.path[endpoint.path.rindex("/") :]
    body = BODIES.get(end, {}) if endpoint.method == "POST" else None
    queries = QUERIES.get(endpoint.path, [""]) if endpoint.method == "GET" else [""]
    filled = [query.format(**values, reference=reference) for query in queries]
    return [(endpoint.method, f"{path}?{query}" if query else path, body) for query in filled]


async def ask(api: Harness, request: Any, headers: Mapping[str, str]) -> httpx.Response:
    method, path, body = request
    return await api.client.request(method, path, json=body, headers=dict(headers))


def visible(answer: httpx.Response) -> object:
    """Return the visible parts of an answer, without those that differ for every request."""
    content = answer.json()
    if content["error"]:
        content["error"]["metadata"].pop("request_id")
    headers = {
        name: value
        for name, value in answer.headers.items()
        if name not in ("x-request-id", "content-length") and not name.startswith("ratelimit")
    }
    return answer.status_code, content, headers


def keyed(key: str) -> dict[str, str]:
    return {"X-SVC-APIKEY": key, "Authorization": f"Bearer {key}"}


@pytest.fixture
async def victim(api: Harness, webhooks: FakeWebhooks) -> Tenant:
    return await a_tenant(api, webhooks)


@pytest.fixture
async def other_tenant(api: Harness, webhooks: FakeWebhooks) -> Tenant:
    return await a_tenant(api, webhooks)


def unknown_values() -> dict[str, str]:
    named = {name for e in ENDPOINTS for name in _names(e.path)}
    return {
        name: "0x" + uuid4().hex * 2 if name == "transactionHash" else str(uuid4())
        for name in named | {"transactionHash"}
    }


def request_order(endpoint: Endpoint) -> int:
    """Return the order of an endpoint: those that end an object last, after `/disable`."""
    return 2 if endpoint.path.endswith(ENDING_ACTIONS) else int(endpoint.path.endswith("/disable"))


def _names(path: str) -> list[str]:
    return [part[1:-1] for part in path.split("/") if part.startswith("{")]


async def test_own_tenant_has_access_to_every_endpoint(api: Harness, victim: Tenant) -> None:
    """Otherwise the refusals in the following tests would prove nothing."""
    stopped = []
    for endpoint in sorted(ENDPOINTS, key=request_order):
        if endpoint.path.endswith(UNPREPARED):
            continue
        by_member = endpoint.scope in BY_MEMBERS
        headers = keyed(victim.owner.token if by_member else victim.secret.key)
        if endpoint.path.startswith(PAY):
            headers = keyed(await link_token(api, victim, victim.values["swapId"]))
        for request in requests_of(endpoint, victim.values, victim.reference):
            answer = await ask(api, request, headers)
            if answer.status_code in REFUSED_TO_ALL:
                stopped.append((name_of(endpoint), answer.text))

    assert stopped == []


@pytest.mark.parametrize("who", ["secret", "publishable", "live", "owner"])
@pytest.mark.fault("A1")
async def test_a1_an_object_of_another_tenant_is_answered_as_a_missing_one(
    api: Harness, victim: Tenant, other_tenant: Tenant, webhooks: FakeWebhooks, who: str
) -> None:
    key = other_tenant.owner.token if who == "owner" else getattr(other_tenant, who).key
    before = await everything_of(api, webhooks)
    unknown_ids = unknown_values()
    for endpoint in (e for e in ENDPOINTS if e.names_owned):
        theirs = requests_of(endpoint, victim.values, victim.reference)
        unknown = requests_of(endpoint, unknown_ids, "nobody's")
        for request, like in zip(theirs, unknown, strict=True):
            answer = await ask(api, request, keyed(key))
            assert visible(answer) == visible(await ask(api, like, keyed(key))), request
            assert answer.status_code in (403, 404), request
            if endpoint.scope in BY_MEMBERS and who == "owner":
                assert answer.status_code == 404, request

    assert await everything_of(api, webhooks) == before


@pytest.mark.fault("A1")
async def test_a1_statements_for_a_foreign_swap_equal_those_for_an_unknown_one(
    api: Harness, victim: Tenant, other_tenant: Tenant
) -> None:
    """The statements are the same, so the response time does not distinguish the two."""
    of_swaps = [e for e in ENDPOINTS if e.names_owned and e.path.startswith(V2)]
    unknown_ids = unknown_values()
    statements = []
    await ask(
        api, ("GET", f"{V2}/health", None), keyed(other_tenant.secret.key)
    )  # the key is cached
    for endpoint in of_swaps:
        theirs = requests_of(endpoint, victim.values, victim.reference)
        unknown = requests_of(endpoint, unknown_ids, "nobody's")
        for request, like in zip(theirs, unknown, strict=True):
            of_other, nothing = [
                await statements_of(api, one, other_tenant) for one in (request, like)
            ]
            statements.append((name_of(endpoint), of_other, nothing))

    assert [one for one in statements if one[1] != one[2]] == []
    assert [name for name, of_other, _ in statements if not of_other] == []


async def statements_of(api: Harness, request: Any, tenant: Tenant) -> list[str]:
    """Return the statements during a request of a tenant."""
    with api.statements() as seen:
        await ask(api, request, keyed(tenant.secret.key))
    return seen.texts


@pytest.mark.parametrize("who", ["secret", "publishable", "live", "owner", "nobody"])
@pytest.mark.fault("A1")
async def test_a1_answers_to_another_tenant_have_no_data_of_the_victim(
    api: Harness, victim: Tenant, other_tenant: Tenant, who: str
) -> None:
    keys = {"nobody": "", "owner": other_tenant.owner.token}
    key = keys[who] if who in keys else getattr(other_tenant, who).key
    for endpoint in sorted(ENDPOINTS, key=request_order):
        for values in (victim.values, other_tenant.values):
            for request in requests_of(endpoint, values, victim.reference):
                answer = await ask(api, request, keyed(key))
                shown = f"{answer.text}\n{answer.headers}"
                assert not [mark for mark in victim.marks if mark in shown], request


@pytest.mark.parametrize("how", ["missing", "unknown", "revoked", "expired", "removed"])
@pytest.mark.fault("A2")
async def test_a2_invalid_keys_and_tokens_are_refused_without_effect(
    api: Harness, victim: Tenant, webhooks: FakeWebhooks, how: str
) -> None:
    if how in ("revoked", "expired", "removed"):
        key = await a_closed_key(api, victim, "expired" if how == "expired" else "revoked")
        token = await a_closed_token(api, victim, how)
    else:
        key, token = "svc_test_" + "0" * 64, "svc_user_" + "0" * 64
    before = await everything_of(api, webhooks)
    for endpoint in (e for e in ENDPOINTS if e.scope not in WITHOUT_KEY):
        by_member = endpoint.scope in BY_MEMBERS
        headers = {"Authorization": f"Bearer {token}"} if by_member else {"X-SVC-APIKEY": key}
        for request in requests_of(endpoint, victim.values, victim.reference):
            answer = await ask(api, request, {} if how == "missing" else headers)
            code = answer.json()["error"]["code"]
            kind = "ACCESS_TOKEN" if by_member else "API_KEY"
            expected = (401, f"{kind}_REQUIRED") if how == "missing" else (403, f"{kind}_FORBIDDEN")
            assert (answer.status_code, code) == expected, request

    assert await everything_of(api, webhooks) == before


@pytest.mark.fault("A2")
async def test_a2_keys_are_refused_for_members_and_tokens_for_apps(
    api: Harness, victim: Tenant
) -> None:
    for endpoint in (e for e in ENDPOINTS if e.scope not in WITHOUT_KEY):
        by_member = endpoint.scope in BY_MEMBERS
        wrong = victim.secret.key if by_member else victim.owner.token
        for request in requests_of(endpoint, victim.values, victim.reference):
            assert (await ask(api, request, keyed(wrong))).status_code == 403, request


async def test_publishable_keys_do_not_open_what_is_for_secret_ones(
    api: Harness, victim: Tenant
) -> None:
    refused = {
        name_of(endpoint)
        for endpoint in ENDPOINTS
        if endpoint.scope not in BY_MEMBERS
        for request in requests_of(endpoint, victim.values, victim.reference)
        if (await ask(api, request, keyed(victim.publishable.key))).status_code == 403
    }

    assert refused == {
        f"GET {V2}/swaps",
        f"POST {V2}/swaps/{{swapId}}/refund_address",
        f"GET {V2}/swaps/{{swapId}}/ledger",
    }


async def test_keys_of_the_other_environment_see_no_network(api: Harness, victim: Tenant) -> None:
    for path in ("networks", "sources", "destinations"):
        answer = await ask(api, ("GET", f"{V2}/{path}", None), keyed(victim.live.key))
        assert answer.json()["data"] == []
    status = await ask(api, ("GET", f"{V2}/status", None), keyed(victim.live.key))
    created = await ask(api, ("POST", f"{V2}/swaps", a_body()), keyed(victim.live.key))

    assert status.json()["data"]["networks"] == []
    assert created.json()["error"]["code"] == "ROUTE_NOT_FOUND_ERROR"


@pytest.mark.fault("A6")
async def test_a6_an_idempotency_key_of_one_tenant_is_news_to_another(
    api: Harness, victim: Tenant, other_tenant: Tenant
) -> None:
    first, second = [
        await api.create(tenant.secret, a_body(), key="the-same")
        for tenant in (victim, other_tenant)
    ]

    assert "idempotent-replayed" not in second.headers
    ids = [answer.json()["data"]["swap"]["id"] for answer in (first, second)]
    assert ids[0] != ids[1]


async def a_closed_token(api: Harness, tenant: Tenant, how: str) -> str:
    """Return an access token of the tenant that is no longer valid."""
    if how == "removed":
        invited = await tenant.owner.post_ok(
            f"/organizations/{tenant.owner.organization_id}/invitations",
            {"name": "brief", "role": "owner"},
        )
        answer = await api.client.post(
            f"{MANAGE}/invitations/accept", json={"token": invited["token"]}
        )
        joined = answer.json()["data"]
        await tenant.owner.post_ok(f"/members/{joined['member']['id']}/remove")
        return str(joined["token"])
    made = await tenant.owner.post_ok("/me/tokens", {"label": how})
    if how == "revoked":
        await tenant.owner.post_ok(f"/me/tokens/{made['id']}/revoke")
    else:
        ended = "UPDATE access_token SET expires_at = now() WHERE id = :id RETURNING id"
        await api.rows(ended, id=made["id"])
    return str(made["token"])
