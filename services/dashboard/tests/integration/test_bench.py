"""The test bench: access, its swaps, and error texts beside fields."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from services.dashboard.tests.shop import Api, Browser, Dashboard, a_bench
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected
HOSTILE = "<script>alert(1)</script>"
GOOD = {
    "source": "ETHEREUM_DEVNET/ETH",
    "destination": "BASE_DEVNET/USDC",
    "amount": "1",
    "method": "depository",
    "outcome": "completed",
    "refund_address": "",
    "reference_id": "",
}


@dataclass(frozen=True, slots=True)
class Shop:
    browser: Browser
    organization: str
    app: str

    @property
    def path(self) -> str:
        return f"/apps/{self.app}/bench"

    async def submit(self, path: str, fields: dict[str, str]) -> httpx.Response:
        return await self.browser.submit(path, fields, page="/organization")


@pytest.fixture
async def dashboard_with_bench(
    database: Database, api: Api, tmp_path: Path
) -> AsyncIterator[Dashboard]:
    async with a_bench(api, tmp_path) as url:
        made = Dashboard(database, api, public_url="http://dashboard.test", bench_url=url)
        yield made
        await made.close()


async def a_shop(
    dashboard_with_bench: Dashboard, api: Api, role: str = "developer", **app: str
) -> Shop:
    organization = api.an_organization(f"Shop {uuid4().hex}")
    made = api.an_app(organization, **app)
    browser = dashboard_with_bench.browser()
    await browser.join(api.invite(organization, role), f"{uuid4().hex}@shop.example")
    return Shop(browser, organization, made)


@pytest.fixture
async def shop(dashboard_with_bench: Dashboard, api: Api) -> Shop:
    made = await a_shop(dashboard_with_bench, api)
    await made.submit(f"{made.path}/join", {})
    return made


def beside(name: str, page: str) -> str:
    """Return the error text beside a field."""
    found = re.search(rf'id="trouble-{name}">([^<]*)<', page)
    return found[1] if found else ""


class TestJoining:
    async def test_hands_over_a_key_that_its_owner_sees(
        self, dashboard_with_bench: Dashboard, api: Api
    ) -> None:
        shop = await a_shop(dashboard_with_bench, api)
        before = (await shop.browser.get(shop.path)).text
        joined = await shop.submit(f"{shop.path}/join", {"shorten": "1"})
        after = (await shop.browser.get(shop.path)).text

        [key] = api.operator_get(f"/apps/{shop.app}/keys")
        assert "Enable the test bench" in before
        assert "Create the swap" not in before
        assert joined.status_code == 303
        assert "Create the swap" in after
        assert (key["label"], key["kind"], key["revoked_at"]) == ("test bench", "secret", None)
        assert "svc_test_" not in after
        assert api.operator_get(f"/apps/{shop.app}")["swap_lifetime_seconds"] == 45

    async def test_changes_nothing_for_an_app_that_joined_before(
        self, api: Api, shop: Shop
    ) -> None:
        again = await shop.submit(f"{shop.path}/join", {"shorten": "1"})

        assert again.status_code == 303
        assert len(api.operator_get(f"/apps/{shop.app}/keys")) == 1
        assert api.operator_get(f"/apps/{shop.app}")["swap_lifetime_seconds"] is None

    async def test_lifetime_form_sets_and_resets_the_swap_lifetime(
        self, api: Api, shop: Shop
    ) -> None:
        app = f"/apps/{shop.app}"
        before = (await shop.browser.get(shop.path)).text
        await shop.submit(f"{shop.path}/lifetime", {"shorten": "1"})
        short = api.operator_get(app)["swap_lifetime_seconds"]
        after = (await shop.browser.get(shop.path)).text
        await shop.submit(f"{shop.path}/lifetime", {})

        assert "Shorten to 45 s" in before
        assert "Use the service's default" in after
        assert "6 h" not in before + after  # the page does not have the default
        assert (short, api.operator_get(app)["swap_lifetime_seconds"]) == (45, None)

    async def test_keeps_the_swap_lifetime_without_the_shorten_field(
        self, api: Api, shop: Shop
    ) -> None:
        assert api.operator_get(f"/apps/{shop.app}")["swap_lifetime_seconds"] is None

    async def test_is_refused_to_a_viewer(self, dashboard_with_bench: Dashboard, api: Api) -> None:
        shop = await a_shop(dashboard_with_bench, api, "viewer")

        page = (await shop.browser.get(shop.path)).text
        refused = await shop.submit(f"{shop.path}/join", {})
        created = await shop.submit(shop.path, GOOD)

        assert "Enable the test bench" not in page
        assert (refused.status_code, created.status_code) == (422, 422)
        assert "This needs the role" in refused.text
        assert "This needs the role" in created.text

    async def test_is_unavailable_for_a_live_app(
        self, dashboard_with_bench: Dashboard, api: Api
    ) -> None:
        shop = await a_shop(dashboard_with_bench, api, "owner", environment="live")

        assert "/bench" not in (await shop.browser.get(f"/apps/{shop.app}/swaps")).text
        assert (await shop.browser.get(shop.path)).status_code == 404
        for path in (shop.path, f"{shop.path}/join"):
            assert (await shop.submit(path, GOOD)).status_code == 404


class TestForm:
    async def test_offers_tokens_outcomes_and_methods(self, shop: Shop) -> None:
        page = (await shop.browser.get(shop.path)).text

        for value in ("ETHEREUM_DEVNET/ETH", "BASE_DEVNET/USDC", "webhook_fails", "gasless", "own"):
            assert f'value="{value}"' in page
        assert "/accepts" in page

    @pytest.mark.parametrize(
        ("changes", "field", "words"),
        [
            ({"amount": "much"}, "amount", "number"),
            ({"amount": ""}, "amount", "missing"),
            ({"refund_address": "nowhere"}, "refund_address", "address"),
            ({"destination": "MARS/ETH"}, "destination", "is not served"),
            ({"reference_id": "x" * 257}, "reference_id", "256"),
            ({"outcome": "wonder"}, "outcome", "Choose"),
            ({"outcome": "own"}, "recipient", "the address that receives"),
            ({"outcome": "own", "recipient": "nowhere"}, "recipient", "address"),
            ({"outcome": "slow"}, "source", "10,000 DAI"),
            ({"outcome": "gasless_expired"}, "method", "a signature"),
            ({"outcome": "late", "method": "gasless"}, "method", "another method"),
            ({"outcome": "late"}, "refund_address", "a refund address"),
        ],
    )
    async def test_shows_the_error_beside_its_field(
        self, shop: Shop, changes: dict[str, str], field: str, words: str
    ) -> None:
        answer = await shop.submit(shop.path, {**GOOD, "reference_id": HOSTILE, **changes})

        assert answer.status_code == 422
        shown = beside(field, answer.text)
        assert shown
        assert words in shown
        assert HOSTILE not in answer.text

    async def test_keeps_entered_values_while_the_quoter_is_unavailable(self, shop: Shop) -> None:
        answer = await shop.submit(shop.path, {**GOOD, "amount": "1.25", "reference_id": "mine"})

        assert answer.status_code == 422  # no quoter runs here
        assert "does not answer right now" in answer.text
        assert 'value="1.25"' in answer.text
        assert 'value="mine"' in answer.text


async def test_bench_pages_do_not_exist_without_a_bench_url(dashboard: Dashboard, api: Api) -> None:
    shop = await a_shop(dashboard, api)

    assert "/bench" not in (await shop.browser.get(f"/apps/{shop.app}/swaps")).text
    assert (await shop.browser.get(shop.path)).status_code == 404


async def test_an_unavailable_bench_is_reported(database: Database, api: Api) -> None:
    made = Dashboard(
        database, api, public_url="http://dashboard.test", bench_url="http://127.0.0.1:1"
    )
    try:
        shop = await a_shop(made, api)
        page = await shop.browser.get(shop.path)
        joined = await shop.submit(f"{shop.path}/join", {})
        created = await shop.submit(shop.path, GOOD)
    finally:
        await made.close()

    assert "does not answer right now" in page.text
    assert (page.status_code, joined.status_code, created.status_code) == (200, 422, 422)
    assert api.operator_get(f"/apps/{shop.app}/keys") == []


async def test_bench_of_another_organization_is_not_found(
    dashboard_with_bench: Dashboard, api: Api
) -> None:
    victim, other = await a_shop(dashboard_with_bench, api), await a_shop(dashboard_with_bench, api)

    for path in (victim.path, f"{victim.path}/join"):
        assert (await other.submit(path, GOOD)).status_code == 404, path
    assert (await other.browser.get(victim.path)).status_code == 404
    assert api.operator_get(f"/apps/{victim.app}/keys") == []
