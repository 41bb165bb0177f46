"""An app's fees in the dashboard: sums, each fee with its swap, each payout, and access."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from services.dashboard.tests.shop import E18, RECEIVER, Api, Browser, Dashboard, a_swap
from swap_domain.catalogue import NATIVE
from tests.support.fees import Fees

pytestmark = pytest.mark.connected
HASH = "0x" + "5f" * 32
GONE = "0x00000000000000000000000000000000000000aA"
NOW = datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class EarningApp:
    """An app with earnings, and a member with access to it."""

    browser: Browser
    organization: str
    app: str
    fees: Fees

    async def page(self, query: str = "") -> str:
        return (await self.browser.get(f"/apps/{self.app}/fees{query}")).text


async def an_earning_app(dashboard: Dashboard, api: Api, role: str = "owner") -> EarningApp:
    organization = api.an_organization("Shop")
    app, browser = api.an_app(organization), dashboard.browser()
    await browser.join(api.invite(organization, role), f"{uuid4().hex}@shop.example")
    url = api.database.superuser_url
    fees = Fees(url, app, network="ETHEREUM_DEVNET", token=NATIVE)
    return EarningApp(browser, organization, app, fees)


async def test_page_without_fees_shows_the_fee_rate(dashboard: Dashboard, api: Api) -> None:
    shop = await an_earning_app(dashboard, api)

    page = await shop.page()
    assert "No fees yet." in page
    assert "charges no fee now" in page
    api.order(f"/apps/{shop.app}/fee", {"fee_basis_points": 25})
    assert "0.25 %" in await shop.page()
    assert "Fees earned" not in (await shop.browser.get(f"/apps/{shop.app}")).text


async def test_every_sum_leads_to_its_entries_and_each_fee_to_the_ledger_of_its_swap(
    dashboard: Dashboard, api: Api
) -> None:
    shop = await an_earning_app(dashboard, api, "viewer")
    swap = a_swap(shop.app, status="completed")
    await api.store(swap)
    fee = shop.fees.earn(E18 // 400, at=NOW, swap_id=swap.swap_id)
    shop.fees.earn(E18 // 100, at=NOW - timedelta(hours=1))
    shop.fees.pay(E18 // 100, at=NOW, to_address=RECEIVER, transaction_hash=HASH)

    page = await shop.page()

    of_coin = f"/apps/{shop.app}/fees?network=ETHEREUM_DEVNET&amp;token=ETH"
    assert f'href="{of_coin}&amp;kind=fee#entries"' in page
    assert f'href="{of_coin}&amp;kind=payout#entries"' in page
    assert "0.0125 <" in page
    assert f'href="/apps/{shop.app}/swaps/{swap.swap_id}#entry-{fee}"' in page
    assert 'badge-good">completed' in page
    assert HASH in page
    assert RECEIVER in page
    home = (await shop.browser.get(f"/apps/{shop.app}")).text
    assert "0.0125 ETH" in home
    assert f'href="{of_coin}&amp;kind=fee#entries"' in home


async def test_earned_paid_and_owed_amounts_have_all_digits(dashboard: Dashboard, api: Api) -> None:
    shop = await an_earning_app(dashboard, api)
    shop.fees.earn(E18 // 8 + 5, at=NOW)
    shop.fees.pay(7, at=NOW, to_address=RECEIVER, transaction_hash=HASH)

    page = await shop.page()

    assert "0.125000000000000005 <" in page  # earned
    assert "0.000000000000000007 <" in page  # paid out
    assert "0.124999999999999998 <" in page  # waits


async def test_fee_in_a_token_outside_the_catalogue_shows_address_and_base_units(
    dashboard: Dashboard, api: Api
) -> None:
    shop = await an_earning_app(dashboard, api)
    gone = Fees(api.database.superuser_url, shop.app, network="ETHEREUM_DEVNET", token=GONE)
    id = gone.earn(1234567, at=NOW)
    shop.fees.earn(E18, at=NOW)

    page = await shop.page()
    home = await shop.browser.get(f"/apps/{shop.app}")
    listed = await shop.page(f"?network=ETHEREUM_DEVNET&token={GONE}")

    assert "1234567 <span" in page
    assert "base units of" in page
    assert GONE in page
    assert home.status_code == 200
    assert f"1234567 base units of {GONE[:6]}" in home.text
    assert str(id) in listed
    assert listed.count("Fee of a swap") == 1


@pytest.mark.parametrize(
    ("query", "fees", "payouts"),
    [
        ("", 1, 1),
        ("?kind=fee", 1, 0),
        ("?kind=payout", 0, 1),
        ("?network=ETHEREUM_DEVNET&token=ETH", 1, 1),
        ("?network=BASE_DEVNET&token=ETH", 0, 0),
        ("?network=NOWHERE&token=ETH", 0, 0),
        ("?network=ETHEREUM_DEVNET", 1, 1),
        ("?kind=other", 1, 1),
        (f"?starting_after={UUID(int=0)}", 0, 0),
    ],
)
async def test_entries_are_filtered_by_the_query_of_the_url(
    dashboard: Dashboard, api: Api, query: str, fees: int, payouts: int
) -> None:
    shop = await an_earning_app(dashboard, api)
    shop.fees.earn(100, at=NOW)
    shop.fees.pay(100, at=NOW, to_address=RECEIVER)

    page = await shop.page(query)

    assert page.count("Fee of a swap") == fees
    assert page.count('nowrap">Payout') == payouts
    assert ("Nothing matches." in page) is not (fees + payouts > 0)


async def test_entries_are_paged(dashboard: Dashboard, api: Api) -> None:
    shop = await an_earning_app(dashboard, api)
    ids = [shop.fees.earn(100, at=NOW - timedelta(minutes=n)) for n in range(52)]

    first = await shop.page("?kind=fee")
    link = first.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0]
    second = (await shop.browser.get(link.replace("&amp;", "&"))).text

    assert "kind=fee" in link
    assert [str(id) in second for id in ids] == [False] * 50 + [True] * 2
    assert ">Newest<" in second


async def test_fees_of_another_organization_are_not_shown(dashboard: Dashboard, api: Api) -> None:
    victim = await an_earning_app(dashboard, api)
    other = await an_earning_app(dashboard, api)
    id = victim.fees.earn(100, at=NOW)

    assert (await other.browser.get(f"/apps/{victim.app}/fees")).status_code == 404
    behind = await other.page(f"?starting_after={id}")
    assert "Nothing matches." in behind
    assert "No fees yet." in await other.page()


async def test_hostile_names_are_escaped(dashboard: Dashboard, api: Api) -> None:
    shop = await an_earning_app(dashboard, api)
    app = api.an_app(shop.organization, "<script>alert(1)</script>")

    page = (await shop.browser.get(f"/apps/{app}/fees?network=<b>x</b>&token=<i>y</i>")).text

    assert "<script>alert(1)" not in page
    assert "<b>x</b>" not in page
    assert "&lt;i&gt;y&lt;/i&gt;" in page
