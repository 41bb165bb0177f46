"""The limits of an app and their use, as its members read them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from api_factories import a_body
from api_harness import App, Harness
from people import Person, a_colleague, an_owner, join

from swap_api.model.keys import KeyKind
from swap_api.model.members import Role
from swap_contracts.public.management import AppLimitsModel

pytestmark = pytest.mark.connected
BY_ADDRESS = {"use_depository": False, "use_deposit_address": True}


async def _member_of(api: Harness, app: App) -> Person:
    return await join(api, str(app.organization_id), Role.OWNER)


async def _limits(member: Person, app_id: UUID | str) -> dict[str, Any]:
    answer = await member.get(f"/apps/{app_id}/limits")
    assert answer.status_code == 200, answer.text
    limits: dict[str, Any] = answer.json()["data"]
    AppLimitsModel.model_validate(limits)
    return limits


async def test_app_without_limits_has_those_of_the_deployment(api: Harness) -> None:
    owner = await an_owner(api)

    limits = await _limits(owner, await owner.an_app())

    rates = {one["kind"]: one for one in limits["rates"]}
    assert rates["create"] == {
        "kind": "create",
        "per_minute": 3000,
        "per_minute_of_client": 30,
    }
    assert set(rates) == {"read", "price", "create"}
    assert limits["burst_minutes"] == 2
    unpaid = {"number": 0, "max": 10_000, "max_of_client": 100}  # as in docs/managing.md
    assert limits["unpaid_swaps"] == unpaid
    assert limits["is_lifted"] is False


async def test_limits_set_by_an_operator_are_shown(api: Harness) -> None:
    app = await api.an_app(is_lifted=True, creates=7, ceiling_factor=3, pending_swaps=5)

    limits = await _limits(await _member_of(api, app), app.id)

    [create] = [one for one in limits["rates"] if one["kind"] == "create"]
    assert (create["per_minute"], create["per_minute_of_client"]) == (21, 7)
    assert limits["unpaid_swaps"] == {"number": 0, "max": 5, "max_of_client": 5}
    assert limits["is_lifted"] is True


async def test_unpaid_swaps_are_counted_per_app(api: Harness) -> None:
    await api.parts.funding.offers.deposit_addresses.refresh()
    app, other = await api.an_app(), await api.an_app()
    public = await api.another_key(app, KeyKind.PUBLISHABLE)
    for body in (a_body(), a_body(**BY_ADDRESS)):
        assert (await api.create(app, body)).status_code == 200
    assert (await api.create(public, a_body())).status_code == 200
    assert (await api.create(other, a_body(**BY_ADDRESS))).status_code == 200

    limits = await _limits(await _member_of(api, app), app.id)

    assert limits["unpaid_swaps"]["number"] == 2
    waiting = {one["network"]: one["number"] for one in limits["deposit_addresses"]}
    assert waiting["ETHEREUM_DEVNET"] == 1
    assert sum(waiting.values()) == 1


async def test_limits_are_shown_to_every_role_and_to_no_other_organization(api: Harness) -> None:
    owner, outsider = await an_owner(api), await an_owner(api)
    app_id = await owner.an_app()
    viewer = await a_colleague(owner, Role.VIEWER)

    assert (await viewer.get(f"/apps/{app_id}/limits")).status_code == 200
    assert (await outsider.get(f"/apps/{app_id}/limits")).status_code == 404
