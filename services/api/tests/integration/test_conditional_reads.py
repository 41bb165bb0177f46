"""Repeated reads: one lookup each, and no body where nothing has changed."""

from __future__ import annotations

import asyncio

import pytest
from api_factories import a_message, a_swap, an_input
from api_harness import App, Harness

from swap_contracts.swaps import SwapChanged

pytestmark = pytest.mark.connected


async def stored(api: Harness, app: App, **members: object) -> SwapChanged:
    swap = a_swap(app_id=app.id, **members)
    await api.parts.swaps.store_swaps([a_message(swap)])
    return swap


class TestConditionalReads:
    async def test_return_304_until_something_changes(self, api: Harness) -> None:
        app = await api.an_app()
        swap = await stored(api, app)
        first = await api.get(app, f"/swaps/{swap.swap_id}")
        known = {**app.headers, "If-None-Match": first.headers["etag"]}
        path = f"/api/v2/swaps/{swap.swap_id}"

        same = await api.client.get(path, headers=known)
        newer = swap.model_copy(update={"sequence": 2, "transactions": (an_input(),)})
        await api.parts.swaps.store_swaps([a_message(newer)])
        changed = await api.client.get(path, headers=known)

        assert (same.status_code, same.content) == (304, b"")
        assert same.headers["etag"] == first.headers["etag"]
        assert "content-type" not in same.headers
        assert same.headers["ratelimit-remaining"]
        assert changed.status_code == 200
        assert changed.headers["etag"] != first.headers["etag"]

    @pytest.mark.parametrize(
        ("form", "status"),
        [("{}", 304), ("W/{}", 304), ('"other", {}', 304), ("*", 304), ('"other"', 200), ("", 200)],
    )
    async def test_take_every_form_of_a_tag(self, api: Harness, form: str, status: int) -> None:
        app = await api.an_app()
        swap = await stored(api, app)
        tag = (await api.get(app, f"/swaps/{swap.swap_id}")).headers["etag"]

        answer = await api.client.get(
            f"/api/v2/swaps/{swap.swap_id}",
            headers={**app.headers, "If-None-Match": form.format(tag)},
        )

        assert answer.status_code == status

    async def test_distinguish_different_requests(self, api: Harness) -> None:
        app = await api.an_app()
        swap = await stored(api, app)

        whole = await api.get(app, f"/swaps/{swap.swap_id}")
        without = await api.get(app, f"/swaps/{swap.swap_id}?exclude_deposit_actions=true")

        assert whole.headers["etag"] != without.headers["etag"]

    async def test_of_another_tenant_are_answered_with_404(self, api: Harness) -> None:
        mine, other = await api.an_app(), await api.an_app()
        swap = await stored(api, mine)
        tag = (await api.get(mine, f"/swaps/{swap.swap_id}")).headers["etag"]

        answers = [
            await api.client.get(
                f"/api/v2/swaps/{swap.swap_id}", headers={**other.headers, "If-None-Match": known}
            )
            for known in (tag, "*")
        ]

        assert [answer.status_code for answer in answers] == [404, 404]

    async def test_are_for_networks_too(self, api: Harness) -> None:
        app = await api.an_app()
        tag = (await api.get(app, "/networks")).headers["etag"]

        same = await api.client.get(
            "/api/v2/networks", headers={**app.headers, "If-None-Match": tag}
        )

        assert same.status_code == 304

    async def test_that_are_concurrent_share_one_indexed_lookup(self, api: Harness) -> None:
        app = await api.an_app()
        swap = await stored(api, app)
        known = (await api.get(app, f"/swaps/{swap.swap_id}")).headers["etag"]
        headers = {**app.headers, "If-None-Match": known}

        with api.statements() as seen:
            answers = await asyncio.gather(
                *(
                    api.client.get(f"/api/v2/swaps/{swap.swap_id}", headers=headers)
                    for _ in range(50)
                )
            )

        assert {answer.status_code for answer in answers} == {304}
        lookups = [statement for statement in seen.texts if "FROM swap" in statement]
        assert 1 <= len(lookups) <= 5
        assert any("swap_pkey" in line for line in await api.plan(lookups[0]))
