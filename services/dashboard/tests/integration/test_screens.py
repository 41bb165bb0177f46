"""The screens in a real browser, for every role, and the behaviour of single pages."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.cookiejar import Cookie
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from services.dashboard.tests.conftest import ADDRESS
from services.dashboard.tests.integration.test_second_factor import switch_on
from services.dashboard.tests.screens import (
    APP,
    HOOK,
    NOT_PAGES,
    OWNER,
    REDIRECTS,
    SCREENS,
    SIGNED_IN,
    SIGNED_OUT,
    WITH_FACTOR,
    WITHOUT_APPS,
    WITHOUT_ORGANIZATION,
)
from services.dashboard.tests.shop import (
    COIN,
    E18,
    RECEIVER,
    Api,
    Browser,
    Dashboard,
    a_bench,
    a_swap,
    a_transaction,
    served_dashboard,
)
from swap_domain.catalogue import NATIVE
from tests.plugins.postgres import Database
from tests.support.browser import Page, find_browser, open_page
from tests.support.fees import Fees
from tests.support.screens import AXE, NARROW, WIDE, guide_image, look, show, violations
from tests.support.walks import CUT, Walk, find_unwalked, is_status, press_tab, unwalked_forms

BROWSER = find_browser()
NO_BROWSER = "there is no Chromium here: nobody has looked at the dashboard (.ci/run installs one)"
NO_AXE = "axe-core is not installed (make install-node-tools): nobody has checked the dashboard"
pytestmark = [
    pytest.mark.connected,
    pytest.mark.timeout(300),
    pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER),
    pytest.mark.skipif(not AXE.exists(), reason=NO_AXE),
]
# No provider listens there: the button is shown, and its page says so.
PROVIDER = {
    "oidc_issuer": "http://127.0.0.1:1",
    "oidc_client_id": "dashboard",
    "oidc_client_secret": "a client's secret for tests",
    "oidc_name": "Shop login",
}
ADA, BEN = "ada@shop.example", "ben@shop.example"
# Pages that no other test makes a picture of, with the height of the picture.
PICTURED = {
    "webhooks": (f"{APP}/webhooks", 680),
    "webhook": (HOOK, 1160),
    "keys": (f"{APP}/keys", 1260),
    "limits": (f"{APP}/limits", 780),
    "frames": (f"{APP}/pay-page", 800),
    "organization": ("/organization", 1100),
    "changes": ("/organization/changes", 620),
    "account": ("/account", 840),
}
FOCUSED = "document.activeElement.textContent.trim()"
# Records are saved once a second: the page is loaded until it has them.
RECORDED = "document.querySelectorAll('main tbody tr').length >= 6 || void location.reload()"
# The left and the right end of the menu's entry for the page.
CURRENT_ENTRY = """
(() => {
  const { left, right } = document.querySelector(".side [aria-current]").getBoundingClientRect();
  return [left, right];
})()
"""
NO_CHART_IS_EMPTY = (
    "[...document.querySelectorAll('[data-chart]')].every((one) => one.querySelector('canvas'))"
)
# How many pixels of the chart have the colour of each series.
DRAWN = """
(() => {
  const canvas = document.querySelector("[data-chart=hours] canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const one = new OffscreenCanvas(1, 1).getContext("2d");
  const count = (name) => {
    one.fillStyle = color(name);
    one.fillRect(0, 0, 1, 1);
    const wanted = one.getImageData(0, 0, 1, 1).data.join();
    let found = 0;
    for (let at = 0; at < data.length; at += 4) found += data.slice(at, at + 4).join() === wanted;
    return found;
  };
  return { delivered: count("--good"), failed: count("--bad") };
})()
"""
GUIDE = os.environ.get("GUIDE_PICTURES")
CODE = '<script>document.title="run"</script><img src=x onerror=document.title="run">' + "W" * 60
HOSTILE = "order-1002" if GUIDE else CODE
LONG = "cart page" if GUIDE else "W" * 60


@dataclass(frozen=True, slots=True)
class Site:
    """A dashboard that a browser reaches, with members in it."""

    url: str
    ids: Mapping[str, str]
    visitors: Mapping[str, Iterable[Cookie]]

    @property
    def app(self) -> str:
        return self.ids["app_id"]


@pytest.fixture
async def bench_url(api: Api, tmp_path: Path) -> AsyncIterator[str]:
    async with a_bench(api, tmp_path) as url:
        yield url


@pytest.fixture
async def site(database: Database, api: Api, bench_url: str) -> AsyncIterator[Site]:
    async with served_dashboard(database, api, bench_url=bench_url, **PROVIDER) as made:
        yield Site(made.public_url, *await _create_data(made, api))


async def _create_data(
    made: Dashboard, api: Api
) -> tuple[Mapping[str, str], Mapping[str, Iterable[Cookie]]]:
    """Create data for every page, and members: return route parameters and cookies."""
    organization = api.an_organization("Shop")
    app = api.an_app(organization, "checkout")
    swap = await _swaps(api, app)
    key = _keys(api, app)
    hook = api.order(f"/apps/{app}/webhooks", {"url": "http://127.0.0.1:9999/hooks"})["id"]
    api.order(f"/webhooks/{hook}/test", {})
    message = await api.store_message(hook, app, UUID(swap), HOSTILE)
    _book_fees(api, app, swap)
    owner, with_factor = made.browser(), made.browser()
    await owner.join(api.invite(organization, name=ADA), ADA)
    await owner.submit(f"/apps/{app}/bench/join", {}, page="/organization")
    await with_factor.join(api.invite(organization, name=BEN), BEN)
    await switch_on(made, with_factor)
    link = await made.parts.make_sign_in_link(ADA)
    assert link is not None
    ids = {
        **{"app_id": app, "swap_id": swap, "webhook_id": hook, "message_id": message},
        **{
            "link": link.partition("token=")[2],
            "invitation": api.invite(organization, name="the shop's agency"),
        },
        **{"with_factor": BEN, "key_id": key, "organization_id": organization},
    }
    visitors = {
        OWNER: owner,
        WITH_FACTOR: with_factor,
        WITHOUT_APPS: await _member_without_apps(made, api),
        WITHOUT_ORGANIZATION: await _member_without_organization(made, api),
    }
    return ids, {name: list(one.client.cookies.jar) for name, one in visitors.items()}


def _keys(api: Api, app: str) -> str:
    """Create keys of each kind, and return the id of the secret one."""
    made = api.order(f"/apps/{app}/keys", {"kind": "secret", "label": "server 1"})
    api.call_api(made["key"], "POST", "/api/v2/swaps", {"source_network": HOSTILE})
    origins = ["https://shop.example", f"https://{'long-' * 10}name.shop.example:8443"]
    for label, allowed in (("checkout page", origins), (LONG, [])):
        body = {"kind": "publishable", "label": label, "allowed_origins": allowed}
        api.order(f"/apps/{app}/keys", body)
    return str(made["id"])


async def _member_without_apps(made: Dashboard, api: Api) -> Browser:
    browser = made.browser()
    await browser.join(api.invite(api.an_organization("Empty")), f"{uuid4().hex}@shop.example")
    return browser


async def _member_without_organization(made: Dashboard, api: Api) -> Browser:
    """Return a removed member."""
    organization, browser = api.an_organization("Left"), made.browser()
    await browser.join(api.invite(organization, "viewer"), f"{uuid4().hex}@shop.example")
    [member] = api.operator_get(f"/organizations/{organization}/members")
    api.order(f"/members/{member['id']}/remove", {})
    return browser


async def _swaps(api: Api, app: str) -> str:
    now = datetime.now(UTC)
    statuses = (
        ("user_transfer_pending", "order-1001"),
        ("ls_transfer_pending", HOSTILE),
        ("completed", "order-1003 with a long reference that does not fit its column"),
        ("failed", None),
        ("expired", "order-1005"),
        ("pending_refund", "طلب-١٠٠٦"),
        ("refunded", "order-1007"),
    )
    swaps = []
    for number, (status, reference) in enumerate(statuses):
        at = now - timedelta(minutes=7 * number + 1)
        paid = (a_transaction("input"), a_transaction("output", status="pending", block_number=9))
        swaps.append(
            a_swap(
                app,
                status=status,
                reference_id=reference,
                created_at=at,
                transactions=paid if status in ("completed", "ls_transfer_pending") else (),
            )
        )
    await api.store(*swaps)
    return str(swaps[1].swap_id)


def _book_fees(api: Api, app: str, swap: str) -> None:
    """Book fees in two tokens, a final payout, and one in flight."""
    api.order(f"/apps/{app}/fee", {"fee_basis_points": 25})
    now, url = datetime.now(UTC), api.database.superuser_url
    coin = Fees(url, app, network="ETHEREUM_DEVNET", token=NATIVE)
    dollar = Fees(url, app, network="BASE_DEVNET", token=COIN)
    for number in range(5):
        at = now - timedelta(minutes=20 * number + 3)
        coin.earn(E18 // 400 * (number + 1), at=at, swap_id=UUID(swap))
    dollar.earn(7_512_345, at=now - timedelta(hours=1), swap_id=UUID(swap))
    paid = {"to_address": RECEIVER, "transaction_hash": "0x" + "5f" * 32}
    coin.pay(E18 // 100, at=now - timedelta(minutes=50), **paid)
    coin.pay(E18 // 200, at=now - timedelta(minutes=1), to_address=RECEIVER, state="reserved")


def _send_requests(api: Api, app: str, swap: str) -> None:
    """Send the requests of a shop's server, and some that are refused."""
    key = api.order(f"/apps/{app}/keys", {"kind": "secret", "label": "server 2"})["key"]
    order = {
        **{"source_network": "ETHEREUM_DEVNET", "source_token": "ETH", "amount": "1"},
        **{"destination_network": "BASE_DEVNET", "destination_token": "USDT"},
        "destination_address": RECEIVER,
    }
    api.call_api(key, "GET", f"/api/v2/swaps/{swap}")
    api.call_api(key, "GET", "/api/v2/networks")
    api.call_api(key, "POST", "/api/v2/swaps", order)
    api.call_api(key, "GET", f"/api/v2/swaps/{UUID(int=7)}")
    api.call_api(key, "GET", "/api/v2/swaps")


async def sign_in(page: Page, site: Site) -> None:
    """Act as the owner, with the cookie of an open session."""
    for cookie in site.visitors[OWNER]:
        await page.send("Network.setCookie", name=cookie.name, value=cookie.value, url=site.url)


async def test_every_page_has_a_screen(database: Database, api: Api) -> None:
    made = Dashboard(database, api, public_url=ADDRESS, bench_url="http://127.0.0.1:1", **PROVIDER)
    routes = made.parts.site.routes

    assert find_unwalked(routes, SCREENS, NOT_PAGES) == set()
    assert unwalked_forms(routes, SCREENS, REDIRECTS) == set()
    await made.close()


@pytest.mark.timeout(900)
@pytest.mark.slow
async def test_dashboard_screens_pass_the_screen_checks(site: Site, tmp_path: Path) -> None:
    assert BROWSER is not None
    async with open_page(BROWSER, tmp_path, "about:blank") as page:
        walk = Walk(page, site.url, visitors=site.visitors, ids={"": site.ids})
        await walk.over((*SIGNED_OUT, *SIGNED_IN))
        title = await page.value("document.title")
        complaints = [one for one in page.complaints if not is_status(one)]

    assert not walk.faults, walk.report
    assert complaints == []
    assert title != "run"


async def test_first_tab_stop_skips_the_menus_and_menus_open_by_keyboard(
    site: Site, tmp_path: Path
) -> None:
    assert BROWSER is not None
    async with open_page(BROWSER, tmp_path, "about:blank") as page:
        await sign_in(page, site)
        await show(page, f"{site.url}/apps/{site.app}/swaps")
        await press_tab(page)
        first = await page.value(FOCUSED)
        while not await page.value("document.activeElement.matches('.menu-end summary')"):
            await press_tab(page)
        await page.send("Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter",
                        text="\r", windowsVirtualKeyCode=13)  # fmt: skip
        names = []
        while not names or "Sign out" not in names[-1]:
            await press_tab(page)
            names.append(await page.value(FOCUSED))
            assert await page.value("!!document.activeElement.closest('.menu-end')"), names

    assert first == "Skip to content"
    assert "Account and sessions" in names


async def _save_guide_picture(
    page: Page, name: str, *, top: str = "body", height: int = 620
) -> None:
    """Store an image for docs/dashboard.md: a part of the page from an element on."""
    if not GUIDE:
        return
    at = await page.value(f"document.querySelector({top!r}).getBoundingClientRect().y + scrollY")
    image = await guide_image(page, top=max(at - 16, 0), height=height)
    (Path(GUIDE) / f"{name}.webp").write_bytes(image)


async def _store_a_month(api: Api, app: str) -> str:
    """Store a month of swaps, and one that is partly paid."""
    now, swaps = datetime.now(UTC), []
    for day in range(1, 30):
        for number in range(2 + (day * 7) % 5):
            at = now - timedelta(days=day, minutes=number)
            status = "refunded" if (day + number) % 6 == 0 else "completed"
            closed = at + timedelta(seconds=30 + (day * 13) % 40 + number)
            swaps.append(a_swap(app, status=status, created_at=at, closed_at=closed))
    part = a_transaction("input", base_units=str(4 * 10**17))
    partly = a_swap(app, reference_id="order-1008", transactions=(part,))
    await api.store(*swaps, partly)
    return str(partly.swap_id)


async def test_charts_export_and_partial_deposits_are_shown(
    api: Api, site: Site, tmp_path: Path
) -> None:
    assert BROWSER is not None
    swap = await _store_a_month(api, site.app)
    path = f"{site.url}/apps/{site.app}"
    async with open_page(BROWSER, tmp_path, "about:blank") as page:
        await sign_in(page, site)
        await look(page, "light", WIDE)
        await show(page, path)
        await page.until("document.querySelectorAll('[data-chart] canvas').length === 3")
        await _save_guide_picture(page, "charts", top="#by-day", height=304)
        await page.value("document.querySelector('main details summary').focus()")
        await page.send("Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter",
                        text="\r", windowsVirtualKeyCode=13)  # fmt: skip
        await page.until("document.querySelector('main details').open")
        found = await violations(page)
        await show(page, f"{path}/swaps")
        await _save_guide_picture(page, "swaps", height=800)
        await page.value("document.querySelector('[data-export]').click()")
        await page.until(
            "document.querySelector('[data-export-state]').textContent.includes('done')"
        )
        exported = await page.value("document.querySelector('[data-export-state]').textContent")
        total = await page.value("document.querySelector('.page-head .num').textContent")
        await show(page, f"{path}/swaps/{swap}")
        found += await violations(page)
        await _save_guide_picture(page, "part", height=800)
        complaints = list(page.complaints)

    assert found == []
    assert complaints == []
    count = total.split()[0]
    assert exported == f"{count} of {count} rows, done"


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_delivery_chart_is_drawn_from_the_numbers_of_its_table(
    api: Api, site: Site, tmp_path: Path, scheme: str
) -> None:
    assert BROWSER is not None
    hook, now = site.ids["webhook_id"], datetime.now(UTC)
    counts = {(2, "delivered"): 6, (2, "failed"): 3, (5, "delivered"): 3}
    for (hours, state), number in counts.items():
        for _ in range(number):
            at = now - timedelta(hours=hours)
            await api.store_message(hook, site.app, uuid4(), "text", state=state, at=at)
    async with open_page(BROWSER, tmp_path, "about:blank") as page:
        await sign_in(page, site)
        await look(page, scheme, WIDE)
        await show(page, f"{site.url}/apps/{site.app}/webhooks/{hook}")
        await page.until("!!document.querySelector('[data-chart=hours] canvas')")
        drawn = await page.value(DRAWN)
        table = await page.value(
            "[1, 2].map((column) => numbers([...document.getElementById('hours').tBodies[0].rows],"
            " column).reduce((sum, one) => sum + one))"
        )

    delivered, failed = table
    assert failed == 3
    assert delivered >= 9
    # A bar is as high as its number, and all are as wide.
    assert drawn["failed"] > 0
    assert drawn["delivered"] / drawn["failed"] == pytest.approx(delivered / failed, rel=0.15)


async def test_the_api_log_shows_requests(api: Api, site: Site, tmp_path: Path) -> None:
    assert BROWSER is not None
    _send_requests(api, site.app, site.ids["swap_id"])
    async with open_page(BROWSER, tmp_path, "about:blank") as page:
        await sign_in(page, site)
        await look(page, "light", WIDE)
        await show(page, f"{site.url}/apps/{site.app}/requests")
        await page.until(RECORDED)
        is_cut = await page.value(CUT)
        found = await violations(page)
        await _save_guide_picture(page, "requests", height=560)
        await page.value("document.querySelector('main tbody a[href*=request_id]').click()")
        await page.until("!!document.querySelector('main pre')")
        found += await violations(page)

    assert is_cut is False
    assert found == []


async def test_fees_lead_to_the_ledger_of_their_swap(site: Site, tmp_path: Path) -> None:
    assert BROWSER is not None
    async with open_page(BROWSER, tmp_path, "about:blank") as page:
        await sign_in(page, site)
        await look(page, "light", WIDE)
        await show(page, f"{site.url}/apps/{site.app}/fees")
        await _save_guide_picture(page, "fees", height=800)
        await page.value("document.querySelector('#sums ~ .scroll tbody a').click()")
        await page.until("location.search.includes('kind=fee')")
        kinds = await page.value(
            "[...document.querySelectorAll('#entries ~ .scroll tbody td:nth-child(2)')]"
            ".map((one) => one.textContent.trim()).join()"
        )
        await page.value("document.querySelector('#entries ~ .scroll tbody a').click()")
        await page.until("location.hash.startsWith('#entry-') && !!document.querySelector('h1')")

    assert set(kinds.split(",")) == {"Fee of a swap"}


async def test_a_narrow_menu_shows_the_current_entry(site: Site, tmp_path: Path) -> None:
    assert BROWSER is not None
    async with open_page(BROWSER, tmp_path, "about:blank") as page:
        await sign_in(page, site)
        await look(page, "light", NARROW)
        await show(page, f"{site.url}/organization/changes")
        left, right = await page.value(CURRENT_ENTRY)

    assert 0 <= left < right <= NARROW


@pytest.mark.skipif(not GUIDE, reason="makes pictures alone: GUIDE_PICTURES names no folder")
async def test_other_pages_have_pictures(api: Api, site: Site, tmp_path: Path) -> None:
    assert BROWSER is not None
    organization = site.ids["organization_id"]
    invitation = api.invite(organization, "developer", name="cleo@shop.example")
    api.order(f"/apps/{site.app}/webhooks", {"url": "http://127.0.0.1:9998/orders"})
    async with open_page(BROWSER, tmp_path, "about:blank") as page:
        await look(page, "light", WIDE)
        await show(page, f"{site.url}/sign-in")
        await _save_guide_picture(page, "sign-in", height=720)
        await show(page, f"{site.url}/join?invitation={invitation}")
        await _save_guide_picture(page, "join", height=760)
        await sign_in(page, site)
        for name, (route, height) in PICTURED.items():
            await show(page, site.url + route.format_map(site.ids))
            await page.until(NO_CHART_IS_EMPTY)
            await _save_guide_picture(page, name, height=height)
