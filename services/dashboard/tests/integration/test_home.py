"""Home: figures with their lists, steps that are marked done, and the app shown at first."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from html import unescape
from uuid import uuid4

import pytest

from services.dashboard.tests.conftest import ADDRESS
from services.dashboard.tests.shop import Api, Browser, Dashboard, a_swap
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected
HOOK = "http://127.0.0.1:9999/hooks"
STEP = re.compile(r'<li class="is-(done|open)">.*?<a href="[^"]+">([^<]+)</a>', re.DOTALL)
NUMBER = re.compile(r'<a class="num[^"]*" href="([^"]+)"[^>]*>([^<]+)</a>')
TOTAL = re.compile(r">([\d,+]+) in all<")


@dataclass(frozen=True, slots=True)
class Shop:
    browser: Browser
    organization: str
    app: str

    @property
    def path(self) -> str:
        return f"/apps/{self.app}"

    async def home(self) -> str:
        return (await self.browser.get(self.path)).text

    async def steps(self) -> dict[str, bool]:
        return {text: state == "done" for state, text in STEP.findall(await self.home())}

    async def start_location(self) -> str:
        return str((await self.browser.get("/")).headers["location"])


async def a_shop(dashboard: Dashboard, api: Api, role: str = "owner") -> Shop:
    organization = api.an_organization(f"Shop {uuid4().hex}")
    app = api.an_app(organization)
    browser = dashboard.browser()
    await browser.join(api.invite(organization, role), f"{uuid4().hex}@shop.example")
    return Shop(browser, organization, app)


@pytest.fixture
async def shop(dashboard: Dashboard, api: Api) -> Shop:
    return await a_shop(dashboard, api)


async def test_home_returns_503_with_retry_after_while_the_api_is_unavailable(
    shop: Shop, api: Api, database: Database
) -> None:
    away = Dashboard(database, replace(api, url="http://127.0.0.1:1"), public_url=ADDRESS)
    browser = away.browser()
    browser.client.cookies = shop.browser.client.cookies

    answer = await browser.get(shop.path)
    await away.close()

    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) > 0


class TestSteps:
    async def test_are_marked_done_and_hidden_when_all_are_done(self, api: Api, shop: Shop) -> None:
        assert await shop.steps() == {
            "Create an API key": False,
            "Add a webhook endpoint": False,
            "Create a first swap": False,
            "Receive a first webhook": False,
        }

        api.order(f"{shop.path}/keys", {"kind": "secret"})
        hook = api.order(f"{shop.path}/webhooks", {"url": HOOK})["id"]
        await api.store(swap := a_swap(shop.app))
        assert [*(await shop.steps()).values()] == [True, True, True, False]

        await api.store_message(hook, shop.app, swap.swap_id, "text", is_first=True)
        assert await shop.steps() == {}

    async def test_key_step_is_open_after_the_only_key_is_revoked(
        self, api: Api, shop: Shop
    ) -> None:
        key = api.order(f"{shop.path}/keys", {"kind": "secret"})["id"]
        api.order(f"/keys/{key}/revoke", {})

        assert not (await shop.steps())["Create an API key"]


class TestFigures:
    async def test_equal_the_totals_of_the_lists_they_link_to(self, api: Api, shop: Shop) -> None:
        now = datetime.now(UTC)
        ages = {"completed": (1, 2, 30), "failed": (3,), "expired": (4, 200), "refunded": (50,)}
        for status, hours in ages.items():
            for ago in hours:
                at = now - timedelta(hours=ago)
                closed = at + timedelta(seconds=20)
                await api.store(a_swap(shop.app, status=status, created_at=at, closed_at=closed))
        await api.store(a_swap(shop.app), a_swap(shop.app, status="ls_transfer_pending"))
        hook = api.order(f"{shop.path}/webhooks", {"url": HOOK})["id"]
        await api.store_message(hook, shop.app, uuid4(), "text")
        api.order(f"/webhooks/{hook}/test", {})

        links = NUMBER.findall(await shop.home())
        counts = [(unescape(link), text) for link, text in links if text.isdigit()]
        assert {"0", "1", "2", "3"} <= {text for _, text in counts}
        for link, text in counts:
            page = (await shop.browser.get(link)).text
            total = TOTAL.search(page)
            assert (total[1] if total else "0") == text, link

    async def test_have_rate_volume_and_median(self, api: Api, shop: Shop) -> None:
        at = datetime.now(UTC) - timedelta(hours=1)
        for status, took in (("completed", 10), ("completed", 30), ("failed", 5), ("expired", 5)):
            closed = at + timedelta(seconds=took)
            await api.store(a_swap(shop.app, status=status, created_at=at, closed_at=closed))

        page = await shop.home()

        assert "66.7 %" in page
        assert "$6,000.00" in page
        assert "10.0 s" in page

    async def test_of_an_empty_app_are_zero(self, shop: Shop) -> None:
        page = await shop.home()

        assert "$0.00" in page
        assert "No endpoint yet" in page


class TestFirstApp:
    async def test_is_the_one_with_the_newest_swap(self, api: Api, shop: Shop) -> None:
        other = api.an_app(shop.organization, "with swaps")
        await api.store(a_swap(other))

        assert await shop.start_location() == f"/apps/{other}"

    async def test_is_the_app_viewed_last(self, api: Api, shop: Shop) -> None:
        other = api.an_app(shop.organization, "with swaps")
        await api.store(a_swap(other))
        await shop.browser.get(f"{shop.path}/keys")
        shown = (await shop.browser.get("/organization")).text

        assert await shop.start_location() == shop.path
        assert f'href="{shop.path}/keys"' in shown

    @pytest.mark.parametrize("text", ["x", "..", "00000000-0000-4000-8000-000000000001"])
    async def test_ignores_a_cookie_with_an_unknown_app(self, shop: Shop, text: str) -> None:
        shop.browser.client.cookies.set("swap_app", text, domain="dashboard.test")

        assert await shop.start_location() == shop.path


async def test_home_shows_nothing_of_another_organization(dashboard: Dashboard, api: Api) -> None:
    victim, other = await a_shop(dashboard, api), await a_shop(dashboard, api, "viewer")
    api.order(f"{victim.path}/webhooks", {"url": "http://127.0.0.1:9999/victims"})
    await api.store(a_swap(victim.app, reference_id="victims"))
    other.browser.client.cookies.set("swap_app", victim.app, domain="dashboard.test")

    page = await other.home()

    assert (await other.browser.get(victim.path)).status_code == 404
    assert await other.start_location() == other.path
    assert "victims" not in page
    assert victim.app not in page


async def test_an_endpoint_shows_its_deliveries_by_hour(api: Api, shop: Shop) -> None:
    hook = api.order(f"{shop.path}/webhooks", {"url": HOOK})["id"]
    await api.store_message(hook, shop.app, uuid4(), "text")

    page = (await shop.browser.get(f"{shop.path}/webhooks/{hook}")).text

    rows = re.findall(r'data-at="([^"]+)".*?data-value="(\d+)".*?data-value="(\d+)"', page)
    assert len(rows) == 25
    assert [(row[1], row[2]) for row in rows if row[1:] != ("0", "0")] == [("1", "0")]
    assert datetime.fromisoformat(rows[-1][0]) <= datetime.now(UTC)
