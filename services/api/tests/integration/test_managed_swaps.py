"""Members read the swaps of their organization's apps."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from api_factories import a_message, a_swap, an_input
from api_harness import Harness
from people import BASE, Person, a_colleague, an_owner

from swap_api.domain.members import Role

pytestmark = pytest.mark.connected


async def store(api: Harness, app_id: str, **members: object) -> str:
    swap = a_swap(swap_id=uuid4(), app_id=UUID(app_id), **members)
    await api.parts.store_swaps([a_message(swap)])
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
        stranger, owner = await an_owner(api), await an_owner(api)
        app_id = await owner.an_app()
        swap_id = await store(api, app_id)

        answer = await api.client.get(
            f"{BASE}/apps/{app_id}/swaps/{swap_id}/events",
            headers={
                "Authorization": f"Bearer {stranger.token}",
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

        everything = await listed(owner, f"/apps/{app_id}/swaps")
        pages = [await listed(owner, path)]
        while pages[-1]:
            pages.append(await listed(owner, f"{path}&starting_after={pages[-1][-1]}"))

        assert [one for page in pages for one in page] == everything
        assert [len(page) for page in pages] == [2, 2, 1, 0]

    async def test_behind_another_apps_swap_is_nothing(self, api: Harness) -> None:
        owner = await an_owner(api)
        one, other = await owner.an_app(), await owner.an_app()
        foreign = await store(api, one)
        await store(api, other)

        assert await listed(owner, f"/apps/{other}/swaps?starting_after={foreign}") == []

    async def test_filters_hold_behind_a_swap(self, api: Harness) -> None:
        owner = await an_owner(api)
        app_id = await owner.an_app()
        wanted = [await store(api, app_id, reference_id="mine") for _ in range(2)]
        await store(api, app_id, reference_id="another")
        path = f"/apps/{app_id}/swaps?reference_id=mine&page_size=1"

        [first] = await listed(owner, path)
        [second] = await listed(owner, f"{path}&starting_after={first}")

        assert {first, second} == set(wanted)
