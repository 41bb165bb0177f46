"""The API log in the dashboard: the shown parts of a request, its filters, and access."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest

from services.dashboard.tests.conftest import ADDRESS
from services.dashboard.tests.shop import Api, Browser, Dashboard, a_bench
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected
HOSTILE = "<script>alert(1)</script>"


async def _shown(browser: Browser, path: str, text: str) -> str:
    """Return the page after it shows the text, because records are saved once a second.

    Routes may break before a slash: the page is returned without these places.
    """
    async with asyncio.timeout(60):
        while text not in (page := await _read(browser, path)):  # noqa: ASYNC110
            await asyncio.sleep(0.1)  # only the page has it
    return page


async def _read(browser: Browser, path: str) -> str:
    return (await browser.get(path)).text.replace("<wbr>", "")


async def _an_app(dashboard: Dashboard, api: Api) -> tuple[Browser, str, str]:
    organization = api.an_organization("Shop")
    app, browser = api.an_app(organization), dashboard.browser()
    await browser.join(api.invite(organization), f"{uuid4().hex}@shop.example")
    return browser, app, api.order(f"/apps/{app}/keys", {"kind": "secret"})["key"]


async def test_log_shows_a_refused_request_with_its_body(dashboard: Dashboard, api: Api) -> None:
    browser, app, key = await _an_app(dashboard, api)
    refused = api.call_api(
        key, "POST", "/api/v2/swaps", {"source_network": HOSTILE, "signature": "0x1"}
    )
    id = refused.headers["x-request-id"]

    page = await _shown(browser, f"/apps/{app}/requests", id)

    assert "POST /api/v2/swaps" in page
    assert refused.json()["error"]["code"] in page
    assert f"…{key[-4:]}" in page
    assert f'href="/apps/{app}/requests?request_id={id}"' in page
    found = (await browser.get(f"/apps/{app}/requests?request_id={id}")).text
    assert HOSTILE not in found
    assert "&lt;script&gt;" in found
    assert "0x1" not in found


async def test_log_links_a_request_without_a_body_to_its_swap(
    dashboard: Dashboard, api: Api
) -> None:
    browser, app, key = await _an_app(dashboard, api)
    swap = uuid4()
    api.call_api(key, "GET", f"/api/v2/swaps/{swap}")

    page = await _shown(browser, f"/apps/{app}/requests", "GET /api/v2/swaps/{swapId}")

    assert f'href="/apps/{app}/swaps/{swap}"' in page
    assert ">Show<" not in page


@pytest.mark.parametrize(
    ("query", "is_found"),
    [
        ("failed=yes", True),
        ("status=404", True),
        ("status=400", False),
        ("status=999", False),
        ("status=nine", True),
        ("route=/api/v2/swaps/{swapId}", True),
        ("route=/api/v2/networks", False),
        ("request_id=none", False),
        ("starting_after=00000000-0000-4000-8000-000000000000", False),
    ],
)
async def test_log_is_filtered_by_the_query_of_the_url(
    dashboard: Dashboard, api: Api, query: str, *, is_found: bool
) -> None:
    browser, app, key = await _an_app(dashboard, api)
    id = api.call_api(key, "GET", f"/api/v2/swaps/{uuid4()}").headers["x-request-id"]
    await _shown(browser, f"/apps/{app}/requests", id)

    page = await browser.get(f"/apps/{app}/requests?{query}")

    assert page.status_code == 200
    assert (id in page.text) is is_found


async def test_log_hides_the_requests_of_the_test_bench(
    database: Database, api: Api, tmp_path: Path
) -> None:
    async with a_bench(api, tmp_path) as url:
        dashboard = Dashboard(database, api, public_url=ADDRESS, bench_url=url)
        try:
            browser, app, key = await _an_app(dashboard, api)
            bench = api.order(f"/apps/{app}/keys", {"kind": "secret", "label": "test bench"})["key"]
            path = f"/apps/{app}/requests"
            own, polled = [
                api.call_api(one, "GET", f"/api/v2/swaps/{uuid4()}").headers["x-request-id"]
                for one in (key, bench)
            ]
            everything = await _shown(browser, f"{path}?bench=show", polled)
            hidden = (await browser.get(path)).text
            found = (await browser.get(f"{path}?request_id={polled}")).text
        finally:
            await dashboard.close()

    assert own in everything
    assert own in hidden
    assert polled not in hidden
    assert "of the test bench" in hidden
    assert polled in found


async def test_log_is_paged(dashboard: Dashboard, api: Api) -> None:
    browser, app, key = await _an_app(dashboard, api)
    ids: list[str] = []
    while len(ids) < 55:  # within the bound of a second
        for _ in range(11):
            ids.append(api.call_api(key, "GET", f"/api/v2/swaps/{uuid4()}").headers["x-request-id"])
        await _shown(browser, f"/apps/{app}/requests", ids[-1])

    first = (await browser.get(f"/apps/{app}/requests?failed=yes")).text
    link = first.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0]
    second = (await browser.get(link.replace("&amp;", "&"))).text

    assert "failed=yes" in link
    assert [id in second for id in ids] == [True] * 5 + [False] * 50
    assert ">Newest<" in second


async def test_log_of_another_organization_is_not_shown(dashboard: Dashboard, api: Api) -> None:
    owner, app, key = await _an_app(dashboard, api)
    id = api.call_api(key, "GET", f"/api/v2/swaps/{uuid4()}").headers["x-request-id"]
    await _shown(owner, f"/apps/{app}/requests", id)
    other, other_app, _ = await _an_app(dashboard, api)

    assert (await other.get(f"/apps/{app}/requests")).status_code == 404
    own = (await other.get(f"/apps/{other_app}/requests?request_id={id}")).text
    assert "Nothing matches" in own
