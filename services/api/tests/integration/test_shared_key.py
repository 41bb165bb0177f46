"""Users of one publishable key: their idempotency keys are independent."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any
from uuid import UUID

import httpx
import pytest
from api_factories import a_body
from api_harness import App, Harness

from swap_api.model.keys import KeyKind

pytestmark = pytest.mark.connected

USERS = ("203.0.113.7", "203.0.113.8", "2001:db8:1::1")
HASH = "0x" + "ab" * 32


async def posted(
    api: Harness, app: App, address: str, path: str, body: dict[str, Any], *, key: str = "k-1"
) -> httpx.Response:
    """Send one request from an address, with an idempotency key."""
    transport = httpx.ASGITransport(api.parts.app, client=(address, 1234))
    async with httpx.AsyncClient(transport=transport, base_url="http://api") as client:
        headers = {**app.headers, "Idempotency-Key": key}
        return await client.post(f"/api/v2{path}", json=body, headers=headers)


async def created(api: Harness, app: App, address: str, **changes: Any) -> httpx.Response:
    return await posted(api, app, address, "/swaps", a_body(**changes))


@pytest.fixture
async def page(api: Harness) -> App:
    return await api.an_app(kind=KeyKind.PUBLISHABLE)


def swap_of(answer: httpx.Response) -> UUID:
    assert answer.status_code == 200, answer.text
    return UUID(answer.json()["data"]["swap"]["id"])


@pytest.mark.fault("A4")
async def test_a4_each_user_is_given_a_swap_of_their_own(api: Harness, page: App) -> None:
    answers = [await created(api, page, user) for user in USERS]

    assert len(set(map(swap_of, answers))) == len(USERS)
    assert not [one for one in answers if "idempotent-replayed" in one.headers]


@pytest.mark.fault("A4")
async def test_a4_a_user_does_not_block_another_with_another_body(api: Harness, page: App) -> None:
    answers = [await created(api, page, user, amount=n + 1) for n, user in enumerate(USERS)]

    assert [one.status_code for one in answers] == [200] * len(USERS)


@pytest.mark.fault("A4")
async def test_a4_a_user_is_given_their_own_answer_again(api: Harness, page: App) -> None:
    first, _, again, changed = [
        await created(api, page, user, amount=amount)
        for user, amount in ((USERS[0], 1), (USERS[1], 1), (USERS[0], 1), (USERS[0], 2))
    ]

    assert again.content == first.content
    assert again.headers["idempotent-replayed"] == "true"
    assert changed.json()["error"]["code"] == "IDEMPOTENCY_KEY_REUSED"


@pytest.mark.fault("A4")
async def test_a4_users_at_the_same_time_make_one_swap_each(api: Harness, page: App) -> None:
    creations = [(user, created(api, page, user)) for user in USERS for _ in range(10)]
    answers = await asyncio.gather(*(one for _, one in creations))

    made = {
        (user, swap_of(answer))
        for (user, _), answer in zip(creations, answers, strict=True)
        if answer.status_code == 200
    }
    refused = {one.json()["error"]["code"] for one in answers if one.status_code != 200}
    assert Counter(user for user, _ in made) == dict.fromkeys(USERS, 1)
    assert len({swap_id for _, swap_id in made}) == len(USERS)
    assert refused <= {"IDEMPOTENCY_KEY_IN_PROGRESS"}
    assert len(await api.rows("SELECT id FROM swap")) == len(USERS)


@pytest.mark.fault("A4")
async def test_a4_of_an_ipv6_network_all_addresses_are_one_user(api: Harness, page: App) -> None:
    first, again = [await created(api, page, one) for one in ("2001:db8:1::1", "2001:db8:1::2")]

    assert swap_of(first) == swap_of(again)


@pytest.mark.fault("A4")
async def test_a4_the_apps_secret_key_has_keys_of_its_own_from_anywhere(
    api: Harness, page: App
) -> None:
    server = await api.another_key(page, KeyKind.SECRET)

    answers = [await created(api, key, one) for key in (page, server) for one in USERS[:2]]

    swaps = list(map(swap_of, answers))
    assert swaps[2] == swaps[3]
    assert len(set(swaps)) == 3


@pytest.mark.fault("A4")
async def test_a4_requests_about_a_swap_are_separate_too(api: Harness, page: App) -> None:
    swap_id = swap_of(await created(api, page, USERS[0]))
    path = f"/swaps/{swap_id}/deposit_speedup"

    answers = [
        await posted(api, page, user, path, {"transaction_id": name}, key="k-2")
        for user, name in ((USERS[0], HASH), (USERS[1], HASH[:-1] + "c"), (USERS[0], HASH))
    ]

    assert [one.status_code for one in answers] == [200] * 3
    assert [one.headers.get("idempotent-replayed") for one in answers] == [None, None, "true"]
