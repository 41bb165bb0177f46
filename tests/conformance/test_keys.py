"""Keys: their form, their access, their rate limits."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest

from tests.conformance.development import Operator
from tests.conformance.signing import RequirementMissing
from tests.conformance.target import Target
from tests.conformance.world import World, new_address

rule = pytest.mark.rule
FORMS = {
    "secret": r"svc_(live|test)_[0-9a-f]{64,}",
    "publishable": r"svc_(live|test)_pub_[0-9a-f]{64,}",
}
# Requests a minute of one client, the factor of a burst, and clients of an app.
READS, PRICES, CREATES, CEILING, BURST = 1200, 120, 30, 100, 2
HOME = ("127.0.0.1", "localhost")
ANOTHER_CLIENT = "127.0.0.2"
REQUESTS_MAX = 50


@rule("D1", "key-form")
@pytest.mark.parametrize("kind", FORMS)
def test_a_key_contains_its_kind(world: World, kind: str) -> None:
    world.needs_key(kind)

    assert re.fullmatch(FORMS[kind], world.target.keys[kind])


@rule("D1", "key-once")
def test_a_key_is_shown_once(world: World, operator: Operator) -> None:
    listed = operator.listed_keys()

    used = world.target.keys["secret"]
    assert used[-4:] in {row["last_four"] for row in listed}
    assert used not in str(listed)
    assert all({"last_used_at", "expires_at", "revoked_at"} <= set(row) for row in listed)


@rule("D1", "key-closed")
def test_a_revoked_key_is_soon_refused(world: World) -> None:
    world.needs_key("closing")

    def is_closed() -> bool:
        return world.target.ask("GET", "/api/v2/networks", key="closing").status != 200

    assert world.wait_for(is_closed)
    world.target.ask("GET", "/api/v2/networks", key="closing").refuses("API_KEY_FORBIDDEN")


@rule("D1", "key-expired")
def test_an_expired_key_is_refused(world: World) -> None:
    world.needs_key("expired")

    def is_closed() -> bool:
        return world.target.ask("GET", "/api/v2/networks", key="expired").status != 200

    assert world.wait_for(is_closed)
    world.target.ask("GET", "/api/v2/networks", key="expired").refuses("API_KEY_FORBIDDEN")


@rule("D1", "environments")
@pytest.mark.parametrize("path", ["networks", "sources", "destinations"])
def test_a_key_lists_only_networks_of_its_environment(world: World, path: str) -> None:
    world.needs_key("foreign")

    assert world.target.ask("GET", f"/api/v2/{path}", key="foreign").data == []


@rule("D1", "not-managing")
@pytest.mark.parametrize("key", ["secret", "publishable"])
def test_a_key_is_refused_by_the_management_api(world: World, key: str) -> None:
    world.needs_key(key)
    answer = world.target.ask("GET", "/management/v1/organizations", key=key)

    assert answer.status in (401, 403, 404)


# Rate limits


@rule("D1", "default-rates")
@pytest.mark.parametrize(("kind", "factor"), [("usual_publishable", 1), ("usual", CEILING)])
def test_an_app_may_send_the_documented_number_of_requests(
    world: World, kind: str, factor: int
) -> None:
    if kind not in world.target.keys:
        raise RequirementMissing(
            "no key with the usual limits was given: give an operator's access"
        )
    price = {**world.native_route.query, "amount": world.amount(world.native_route)}
    body = {
        READS: world.target.ask("GET", "/api/v2/health", key=kind),
        PRICES: world.target.ask("GET", "/api/v2/quote", key=kind, params=price),
        CREATES: world.target.ask("POST", "/api/v2/swaps", key=kind, json=world.order()),
    }

    expected = {rate: rate * factor * BURST for rate in body}
    assert {r: int(a.headers["ratelimit-limit"]) for r, a in body.items()} == expected


@pytest.fixture
def other_client(target: Target) -> Iterator[httpx.Client]:
    """Return a client with another address of this machine."""
    if httpx.URL(target.settings.base_url).host not in HOME or target.settings.stack.get(
        "containers"
    ):
        raise RequirementMissing("every request of the suite comes from one address here")
    transport = httpx.HTTPTransport(local_address=ANOTHER_CLIENT)
    with httpx.Client(base_url=target.settings.base_url, transport=transport) as http:
        yield http


@rule("D1", "per-client")
def test_users_of_one_publishable_key_do_not_spend_each_others_requests(
    world: World, other_client: httpx.Client
) -> None:
    target = exhausted(world)
    headers = {target.settings.key_header: target.keys["narrow"]}

    assert other_client.get("/api/v2/health", headers=headers).status_code == 200


@rule("D1", "not-forwarded")
def test_a_client_does_not_become_another_by_saying_so(world: World) -> None:
    target = exhausted(world)
    headers = {"X-Forwarded-For": "198.51.100.7"}

    answer = target.ask("GET", "/api/v2/health", key="narrow", headers=headers)
    answer.refuses("RATE_LIMITED")


def exhausted(world: World) -> Target:
    """Return the deployment after the narrow key has used up its requests from this address."""
    if "narrow" not in world.target.keys:
        raise RequirementMissing(
            "no publishable key with small limits was given: give an operator's access"
        )
    for _ in range(REQUESTS_MAX):
        if world.target.ask("GET", "/api/v2/health", key="narrow").status != 200:
            return world.target
    raise AssertionError(f"{REQUESTS_MAX} requests are within a limit of one")


# Idempotency keys are scoped by app


@rule("D1", "idempotent-per-app")
def test_another_app_may_use_the_same_idempotency_key(world: World) -> None:
    world.needs_key("other")
    headers, order = {"Idempotency-Key": f"shared-{new_address()}"}, world.order()
    made = [
        world.target.ask("POST", "/api/v2/swaps", key=key, json=order, headers=headers)
        for key in ("secret", "other")
    ]

    assert len({one.data["swap"]["id"] for one in made}) == 2
