"""The page of an app's limits."""

from __future__ import annotations

import re
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

    waiting = f"/apps/{app}/swaps?status=user_transfer_pending"
    assert re.search(rf'href="{re.escape(waiting)}"[^>]*>2</a> / 10,000', page)
    assert f'href="{waiting}&amp;network=ETHEREUM_DEVNET"' in page
    assert f'href="/apps/{app}/requests?status=429"' in page
    assert 'title="ETHEREUM_DEVNET">Ethereum<' in page
    assert ">2,100<" in page
    assert ">7<" in page


async def test_limits_of_another_organization_are_not_found(dashboard: Dashboard, api: Api) -> None:
    app, browser = api.an_app(api.an_organization("Shop")), dashboard.browser()
    await browser.join(api.invite(api.an_organization("Other")), f"{uuid4().hex}@other.example")

    assert (await browser.get(f"/apps/{app}/limits")).status_code == 404


@pytest.mark.parametrize(
    ("network", "number"), [("ETHEREUM_DEVNET", 1), ("NOWHERE", 0), ("%3Cscript%3E", 1)]
)
async def test_list_of_a_limits_network_has_its_swaps(
    dashboard: Dashboard, api: Api, network: str, number: int
) -> None:
    organization = api.an_organization("Shop")
    app, browser = api.an_app(organization), dashboard.browser()
    await browser.join(api.invite(organization, "viewer"), f"{uuid4().hex}@shop.example")
    await api.store(a_swap(app))

    page = (await browser.get(f"/apps/{app}/swaps?network={network}")).text

    assert page.count("data-swap=") == number
    assert "<script>" not in page
