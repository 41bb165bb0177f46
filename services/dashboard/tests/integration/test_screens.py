"""The screens in a real browser: light, dark and 360 pixels wide, and what axe finds in them."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

import pytest

from services.dashboard.tests.shop import RECEIVER, Api, Dashboard, a_bench, a_swap, a_transaction
from swap_runtime.http.asgi import AsgiServer
from tests.plugins.postgres import Database
from tests.plugins.processes import free_port
from tests.support.browser import Page, find_browser, opened
from tests.support.screens import AXE, LOOKS, WIDE, look, picture, show, violations

BROWSER = find_browser()
NO_BROWSER = "there is no Chromium here: nobody has looked at the dashboard (.ci/run installs one)"
NO_AXE = "axe-core is not installed (make install-node-tools): nobody has checked the dashboard"
pytestmark = [
    pytest.mark.connected,
    pytest.mark.timeout(300),
    pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER),
    pytest.mark.skipif(not AXE.exists(), reason=NO_AXE),
]
BYTES_MAX = 100 * 1024
REQUESTS_MAX = 10
CUT = "[...document.querySelectorAll('.scroll')].some((one) => one.scrollWidth > one.clientWidth)"
# Records are saved once a second: the page is loaded until it has them.
RECORDED = "document.querySelectorAll('main tbody tr').length >= 6 || void location.reload()"
GUIDE = os.environ.get("GUIDE_PICTURES")
CODE = '<script>document.title="run"</script><img src=x onerror=document.title="run">' + "W" * 60
HOSTILE = "order-1002" if GUIDE else CODE


@dataclass(frozen=True, slots=True)
class Site:
    """A dashboard that a browser reaches, with a signed-in member."""

    url: str
    app: str
    swap: str
    webhook: str
    message: str
    link: str

    def pages(self) -> dict[str, str]:
        return {
            "home": f"/apps/{self.app}",
            "swaps": f"/apps/{self.app}/swaps",
            "nothing": f"/apps/{self.app}/swaps?q=none",
            "swap": f"/apps/{self.app}/swaps/{self.swap}",
            "webhooks": f"/apps/{self.app}/webhooks",
            "webhook": f"/apps/{self.app}/webhooks/{self.webhook}",
            "message": f"/apps/{self.app}/webhooks/{self.webhook}/messages/{self.message}",
            "keys": f"/apps/{self.app}/keys",
            "requests": f"/apps/{self.app}/requests",
            "limits": f"/apps/{self.app}/limits",
            "no requests": f"/apps/{self.app}/requests?request_id=none",
            "pay-page": f"/apps/{self.app}/pay-page",
            "bench": f"/apps/{self.app}/bench",
            "organization": "/organization",
            "changes": "/organization/changes",
            "account": "/account",
            "missing": "/nowhere",
        }


@pytest.fixture
async def bench_url(api: Api, tmp_path: Path) -> AsyncIterator[str]:
    async with a_bench(api, tmp_path) as url:
        yield url


@pytest.fixture
async def site(database: Database, api: Api, bench_url: str) -> AsyncIterator[Site]:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    made = Dashboard(database, api, public_url=url, bench_url=bench_url)
    server = AsgiServer(made.parts.site, "127.0.0.1", port)
    await server.start()
    organization = api.an_organization("Shop")
    app, email = api.an_app(organization, "checkout"), f"{free_port()}@shop.example"
    swap = await _swaps(api, app)
    key = api.order(f"/apps/{app}/keys", {"kind": "secret", "label": "server 1"})["key"]
    api.ask(key, "POST", "/api/v2/swaps", {"source_network": HOSTILE})
    origins = ["https://shop.example", f"https://{'long-' * 10}name.shop.example:8443"]
    for label, allowed in (("checkout page", origins), ("W" * 60, [])):
        body = {"kind": "publishable", "label": label, "allowed_origins": allowed}
        api.order(f"/apps/{app}/keys", body)
    hook = api.order(f"/apps/{app}/webhooks", {"url": "http://127.0.0.1:9999/hooks"})["id"]
    api.order(f"/webhooks/{hook}/test", {})
    message = await api.store_message(hook, app, UUID(swap), HOSTILE)
    browser = made.browser()
    await browser.join(api.invite(organization), email)
    await browser.submit(f"/apps/{app}/bench/join", {}, page="/organization")
    link = await made.parts.make_sign_in_link(email)
    assert link is not None
    yield Site(made.public_url, app, swap, hook, message, link)
    await server.stop()
    await made.close()


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


def _some_requests(api: Api, app: str, swap: str) -> None:
    """Ask what a shop's server asks, and what is refused."""
    key = api.order(f"/apps/{app}/keys", {"kind": "secret", "label": "server 2"})["key"]
    order = {
        **{"source_network": "ETHEREUM_DEVNET", "source_token": "ETH", "amount": "1"},
        **{"destination_network": "BASE_DEVNET", "destination_token": "USDT"},
        "destination_address": RECEIVER,
    }
    api.ask(key, "GET", f"/api/v2/swaps/{swap}")
    api.ask(key, "GET", "/api/v2/networks")
    api.ask(key, "POST", "/api/v2/swaps", order)
    api.ask(key, "GET", f"/api/v2/swaps/{UUID(int=7)}")
    api.ask(key, "GET", "/api/v2/swaps")


async def sign_in(page: Page, site: Site) -> None:
    await page.until("!!document.querySelector('button.primary')")
    await page.value("document.querySelector('button.primary').click()")
    await page.until("!!document.querySelector('.shell')")


async def test_every_screen_is_readable_in_every_look(site: Site, tmp_path: Path) -> None:
    assert BROWSER is not None
    found, wide = [], []
    async with opened(BROWSER, tmp_path, site.link) as page:
        await page.until("!!document.querySelector('button.primary')")
        for scheme, width in LOOKS:
            await look(page, scheme, width)
            found += [("link", scheme, width, one) for one in await violations(page)]
            await picture(page, f"link-{scheme}-{width}")
        await sign_in(page, site)
        for name, path in site.pages().items():
            await show(page, site.url + path)
            for scheme, width in LOOKS:
                await look(page, scheme, width)
                found += [(name, scheme, width, one) for one in await violations(page)]
                if await page.value("document.documentElement.scrollWidth > innerWidth"):
                    wide.append((name, width))
                if width == WIDE and await page.value(CUT):
                    wide.append((name, "a table is cut"))
                await picture(page, f"{name}-{scheme}-{width}")
        title = await page.value("document.title")
        hosts = {urlsplit(url).netloc for url in page.requests if url.startswith("http")}
        complaints = [one for one in page.complaints if "404" not in one]

    assert found == []
    assert wide == []
    assert complaints == []
    assert title != "run"
    assert hosts == {urlsplit(site.url).netloc}


async def test_pages_are_small_and_ask_for_little(site: Site, tmp_path: Path) -> None:
    assert BROWSER is not None
    async with opened(BROWSER, tmp_path, site.link) as page:
        await sign_in(page, site)
        for path in site.pages().values():
            page.requests.clear()
            await show(page, site.url + path)
            sizes = await page.value(
                "JSON.stringify(performance.getEntries().filter(e => e.encodedBodySize)"
                ".map(e => e.encodedBodySize))"
            )
            assert sum(json.loads(sizes)) <= BYTES_MAX, path
            assert len(page.requests) <= REQUESTS_MAX, path


async def test_the_keyboard_reaches_everything_and_shows_where_it_is(
    site: Site, tmp_path: Path
) -> None:
    assert BROWSER is not None
    async with opened(BROWSER, tmp_path, site.link) as page:
        await sign_in(page, site)
        await show(page, f"{site.url}/apps/{site.app}/swaps")
        names = []
        for _ in range(40):
            for kind in ("keyDown", "keyUp"):
                await page.send("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab",
                                windowsVirtualKeyCode=9)  # fmt: skip
            names.append(
                await page.value(
                    "document.activeElement.getAttribute('name') "
                    "|| document.activeElement.textContent.trim()"
                )
            )

    assert names[0] == "Skip to content"
    assert {"q", "since", "until", "status", "Filter"} <= set(names)


async def _guide(page: Page, name: str, *, top: str = "body", height: int = 620) -> None:
    """Store a picture for docs/dashboard.md: a part of the page, from an element on."""
    if not GUIDE:
        return
    at = await page.value(f"document.querySelector({top!r}).getBoundingClientRect().y + scrollY")
    area = {"x": 0, "y": max(at - 16, 0), "width": WIDE, "height": height, "scale": 1}
    shot = await page.send(
        "Page.captureScreenshot",
        format="webp",
        quality=60,
        clip=area,
        captureBeyondViewport=True,
    )
    (Path(GUIDE) / f"{name}.webp").write_bytes(base64.b64decode(shot["data"]))


async def _a_month(api: Api, app: str) -> str:
    """Store a month of swaps, and one that is paid in part."""
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


async def test_charts_exports_and_parts_are_shown(api: Api, site: Site, tmp_path: Path) -> None:
    assert BROWSER is not None
    swap = await _a_month(api, site.app)
    path = f"{site.url}/apps/{site.app}"
    async with opened(BROWSER, tmp_path, site.link) as page:
        await sign_in(page, site)
        await look(page, "light", WIDE)
        await show(page, path)
        await page.until("document.querySelectorAll('[data-chart] canvas').length === 3")
        await _guide(page, "charts", top="#by-day", height=304)
        await page.value("document.querySelector('main details summary').focus()")
        await page.send("Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter",
                        text="\r", windowsVirtualKeyCode=13)  # fmt: skip
        await page.until("document.querySelector('main details').open")
        found = await violations(page)
        await show(page, f"{path}/swaps")
        await _guide(page, "swaps", height=800)
        await page.value("document.querySelector('[data-export]').click()")
        await page.until(
            "document.querySelector('[data-export-state]').textContent.includes('done')"
        )
        exported = await page.value("document.querySelector('[data-export-state]').textContent")
        total = await page.value("document.querySelector('.page-head .num').textContent")
        await show(page, f"{path}/swaps/{swap}")
        found += await violations(page)
        await _guide(page, "part", height=800)
        complaints = list(page.complaints)

    assert found == []
    assert complaints == []
    count = total.split()[0]
    assert exported == f"{count} of {count} rows, done"


async def test_the_api_log_shows_requests(api: Api, site: Site, tmp_path: Path) -> None:
    assert BROWSER is not None
    _some_requests(api, site.app, site.swap)
    async with opened(BROWSER, tmp_path, site.link) as page:
        await sign_in(page, site)
        await look(page, "light", WIDE)
        await show(page, f"{site.url}/apps/{site.app}/requests")
        await page.until(RECORDED)
        found = await violations(page)
        await _guide(page, "requests", height=560)
        await page.value("document.querySelector('main tbody a[href*=request_id]').click()")
        await page.until("!!document.querySelector('main pre')")
        found += await violations(page)

    assert found == []
