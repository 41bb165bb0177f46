"""Members read the swaps of their organization's apps."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from api_factories import a_body, a_message, a_swap, an_input
from api_harness import Harness
from people import BASE, Person, a_colleague, an_owner

from swap_api.model.listing import SwapFilter
from swap_api.model.members import Role

pytestmark = pytest.mark.connected


async def store(api: Harness, app_id: str, **members: object) -> str:
    swap = a_swap(swap_id=uuid4(), app_id=UUID(app_id), **members)
    await api.parts.swaps.store_swaps([a_message(swap)])
    return str(swap.swap_id)


async def listed(person: Person, path: str) -> list[str]:
    answer = await person.get(path)
    assert answer.status_code == 200, answer.text
    return [item["swap"]["id"] for item in answer.json()["data"]]


class TestReads:
    async def test_a_viewer_reads_a_swap_with_its_events_and_its_ledger(self, api: Harness) -> None:
        owner = await an_owner(api)
        app_id = await owner.an_app()
        hash_ = "0x" + uuid4().hex * 2
        swap_id = await store(
            api, app_id, reference_id="order", transactions=(an_input(transaction_hash=hash_),)
        )
        viewer = await a_colleague(owner, Role.VIEWER)

        path = f"/apps/{app_id}/swaps"
        read = (await viewer.get(f"{path}/{swap_id}")).json()["data"]
        events = (await viewer.get(f"{path}/{swap_id}/events")).json()["data"]
        ledger = (await viewer.get(f"{path}/{swap_id}/ledger")).json()["data"]
        found = (await viewer.get(f"{path}/by_transaction_hash/{hash_}")).json()["data"]

        assert read["swap"]["metadata"]["reference_id"] == "order"
        assert found["swap"]["id"] == swap_id
        assert isinstance(events, list)
        assert ledger == []

    async def test_the_swap_of_another_app_is_unknown(self, api: Harness) -> None:
        owner = await an_owner(api)
        one, other = await owner.an_app(), await owner.an_app()
        swap_id = await store(api, one)

        answer = await owner.get(f"/apps/{other}/swaps/{swap_id}")

        assert answer.status_code == 404

    async def test_a_live_read_is_a_stream(self, api: Harness) -> None:
        other_owner, owner = await an_owner(api), await an_owner(api)
        app_id = await owner.an_app()
        swap_id = await store(api, app_id)

        answer = await api.client.get(
            f"{BASE}/apps/{app_id}/swaps/{swap_id}/events",
            headers={
                "Authorization": f"Bearer {other_owner.token}",
                "Accept": "text/event-stream",
            },
        )

        assert answer.status_code == 404


class TestPages:
    async def test_a_page_begins_behind_a_swap(self, api: Harness) -> None:
        owner = await an_owner(api)
        app_id = await owner.an_app()
        for _ in range(5):
            await store(api, app_id)
        path = f"/apps/{app_id}/swaps?page_size=2"

        all_of_them = await listed(owner, f"/apps/{app_id}/swaps")
        pages = [await listed(owner, path)]
        while pages[-1]:
            pages.append(await listed(owner, f"{path}&starting_after={pages[-1][-1]}"))

        assert [one for page in pages for one in page] == all_of_them
        assert [len(page) for page in pages] == [2, 2, 1, 0]

    async def test_after_a_swap_of_another_app_are_empty(self, api: Harness) -> None:
        owner = await an_owner(api)
        one, other = await owner.an_app(), await owner.an_app()
        of_other_app = await store(api, one)
        await store(api, other)

        assert await listed(owner, f"/apps/{other}/swaps?starting_after={of_other_app}") == []

    async def test_filters_hold_behind_a_swap(self, api: Harness) -> None:
        owner = await an_owner(api)
        app_id = await owner.an_app()
        wanted = [await store(api, app_id, reference_id="mine") for _ in range(2)]
        await store(api, app_id, reference_id="another")
        path = f"/apps/{app_id}/swaps?reference_id=mine&page_size=1"

        [first] = await listed(owner, path)
        [second] = await listed(owner, f"{path}&starting_after={first}")

        assert {first, second} == set(wanted)


class TestCreating:
    async def test_a_developer_creates_a_swap_of_a_test_app(self, api: Harness) -> None:
        owner = await an_owner(api)
        app_id = await owner.an_app()
        developer = await a_colleague(owner, Role.DEVELOPER)

        made = await developer.post_ok(f"/apps/{app_id}/swaps", a_body(reference_id="by hand"))

        assert made["swap"]["metadata"]["reference_id"] == "by hand"
        assert await listed(owner, f"/apps/{app_id}/swaps") == [made["swap"]["id"]]

    async def test_lifetime_is_the_one_of_the_app(self, api: Harness) -> None:
        owner = await an_owner(api)
        app_id = await owner.an_app()
        await owner.post_ok(f"/apps/{app_id}", {"name": "web", "swap_lifetime_seconds": 45})

        made = await owner.post_ok(f"/apps/{app_id}/swaps", a_body())
        rows = await api.rows(
            "SELECT expires_at - created_at AS lifetime FROM swap WHERE id = :id",
            id=UUID(made["swap"]["id"]),
        )

        assert [row.lifetime for row in rows] == [timedelta(seconds=45)]

    async def test_a_viewer_creates_none(self, api: Harness) -> None:
        owner = await an_owner(api)
        app_id = await owner.an_app()
        viewer = await a_colleague(owner, Role.VIEWER)

        answer = await viewer.post(f"/apps/{app_id}/swaps", a_body())

        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "ROLE_TOO_LOW")

    async def test_of_a_live_app_its_server_creates_them(self, api: Harness) -> None:
        owner = await an_owner(api)
        app_id = await owner.an_app("live")

        answer = await owner.post(f"/apps/{app_id}/swaps", a_body())

        assert answer.json()["error"]["code"] == "VALIDATION_ERROR"
        assert await listed(owner, f"/apps/{app_id}/swaps") == []

    async def test_a_key_makes_one_swap(self, api: Harness) -> None:
        owner = await an_owner(api)
        app_id = await owner.an_app()
        request = {"json": a_body(), "key": str(uuid4())}

        first, second = [await create(owner, app_id, **request) for _ in range(2)]

        assert first == second
        assert len(await listed(owner, f"/apps/{app_id}/swaps")) == 1

    async def test_members_see_what_the_app_may_use(self, api: Harness) -> None:
        owner = await an_owner(api)
        test, live = await owner.an_app(), await owner.an_app("live")

        networks = (await owner.get(f"/apps/{test}/networks")).json()["data"]

        assert {"ETHEREUM_DEVNET", "BASE_DEVNET"} <= {one["name"] for one in networks}
        assert (await owner.get(f"/apps/{live}/networks")).json()["data"] == []


async def create(owner: Person, app_id: str, *, json: dict[str, Any], key: str) -> Any:
    answer = await owner.api.client.post(
        f"{BASE}/apps/{app_id}/swaps",
        json=json,
        headers={"Authorization": f"Bearer {owner.token}", "Idempotency-Key": key},
    )
    return answer.json()["data"]


class TestStates:
    async def test_are_the_ids_and_statuses_of_the_list(self, api: Harness) -> None:
        owner = await an_owner(api)
        app_id = await owner.an_app()
        ids = [await store(api, app_id) for _ in range(3)]
        path = f"/apps/{app_id}/swap_states"

        states = (await owner.get(path)).json()["data"]
        behind = (await owner.get(f"{path}?starting_after={states[0]['id']}")).json()["data"]
        none = (await owner.get(f"{path}?statuses=completed")).json()["data"]

        assert {one["id"] for one in states} == set(ids)
        assert {one["status"] for one in states} == {"user_transfer_pending"}
        assert behind == states[1:]
        assert none == []

    async def test_are_sent_when_they_change(self, api: Harness) -> None:
        owner = await an_owner(api)
        app_id = await owner.an_app()
        swap = a_swap(swap_id=uuid4(), app_id=UUID(app_id))
        await api.parts.swaps.store_swaps([a_message(swap)])
        read_states = api.parts.swaps.swaps._read_swap_states
        wanted = SwapFilter(app_id=UUID(app_id), page=1, page_size=20)

        events = read_states.follow(wanted, after="")
        pieces = [await anext(events), await anext(events)]
        known = pieces[1].partition(b"\n")[0].removeprefix(b"id: ").decode()
        again = read_states.follow(wanted, after=known)
        assert await anext(again) == pieces[0]
        completed = swap.model_copy(update={"status": "completed", "sequence": swap.sequence + 1})
        await api.parts.swaps.store_swaps([a_message(completed)])
        changed = [await anext(events), await anext(again)]

        assert pieces[0].startswith(b"retry:")
        assert f'"{swap.swap_id}","status":"user_transfer_pending"'.encode() in pieces[1]
        assert f'"{swap.swap_id}","status":"completed"'.encode() in changed[0]
        assert changed[0] == changed[1]

    async def test_of_another_organization_are_no_stream(self, api: Harness) -> None:
        other_owner, owner = await an_owner(api), await an_owner(api)
        app_id = await owner.an_app()

        answer = await api.client.get(
            f"{BASE}/apps/{app_id}/swap_states",
            headers={
                "Authorization": f"Bearer {other_owner.token}",
                "Accept": "text/event-stream",
            },
        )

        assert answer.status_code == 404
