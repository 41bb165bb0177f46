"""The page of an app's limits."""

from __future__ import annotations

from uuid import uuid4

import pytest

from services.dashboard.tests.shop import Api, Dashboard, a_swap

pytestmark = pytest.mark.connected


async def test_limits_page_shows_pending_swaps_and_request_rates(
    dashboard: Dashboard, api: Api
) -> None:
    organization = api.an_organization("Shop")
    app, browser = api.an_app(organization), dashboard.browser()
    await browser.join(api.invite(organization, "viewer"), f"{uuid4().hex}@shop.example")
    api.order(f"/apps/{app}/limits", {"creates_per_minute": 7, "ceiling_factor": 300})
    await api.store(a_swap(app), a_swap(app))

    page = (await browser.get(f"/apps/{app}/limits")).text

    assert "2 / 10,000" in page
    assert 'title="ETHEREUM_DEVNET">Ethereum<' in page
    assert ">2,100<" in page
    assert ">7<" in page


async def test_limits_of_another_organization_are_not_found(dashboard: Dashboard, api: Api) -> None:
    app, browser = api.an_app(api.an_organization("Shop")), dashboard.browser()
    await browser.join(api.invite(api.an_organization("Other")), f"{uuid4().hex}@other.example")

    assert (await browser.get(f"/apps/{app}/limits")).status_code == 404
