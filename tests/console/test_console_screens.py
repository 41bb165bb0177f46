"""The console in a real browser: every page for every reader, and a double click."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http.cookiejar import Cookie
from pathlib import Path
from typing import Final

import pytest

from services.settler.tests.lane_harness import SOURCE
from swap_domain.catalogue import NATIVE
from swap_runtime.http.asgi import AsgiServer
from tests.console.guide import GUIDE, NO_GUIDE, save_picture
from tests.console.operator_services import BAD, HOSTILE, TOKENS, Console, Services, serve_operators
from tests.console.screens import LISTS, NOT_PAGES, SCREENS, SIGNED_OUT, SINGLE
from tests.plugins.postgres import Database
from tests.plugins.processes import free_port
from tests.support.browser import Page, find_browser, open_page
from tests.support.screens import AXE, LOOKS, WIDE, look, picture, show, violations
from tests.support.walks import CUT, Walk, find_unwalked, is_status

BROWSER = find_browser()
NO_BROWSER = "there is no Chromium here: nobody has looked at the console (.ci/run installs one)"
NO_AXE = "axe-core is not installed (make install-node-tools): nobody has checked the console"
pytestmark = [
    pytest.mark.connected,
    pytest.mark.timeout(400),
    pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER),
    pytest.mark.skipif(not AXE.exists(), reason=NO_AXE),
]
PAID: Final = "SELECT swap_id FROM intent WHERE state = 'confirmed' ORDER BY id LIMIT 1"
# What the journey of two operators has no picture of (tests/e2e/test_console.py), and the element
# that each picture begins with.
PICTURED: Final = {
    **dict.fromkeys(("stuck", "payments", "losses", "accounts", "caps", "blocked"), "body"),
    **dict.fromkeys(("signers", "recovery", "sessions", "spent", "held", "deposit"), "body"),
    "swap": "body",
}
PAGE: Final = Path(__file__).parents[2] / "docs/console.md"
# Lists that are shown by one of their rows.
ONE_OF: Final = {"approvals": "approval", "claimables": "claimable"}
# Amounts and names as long as they are shown.
LONG_BALANCES: Final = """
document.querySelectorAll("main .card:first-of-type table.rows tbody tr").forEach((row) => {
  row.cells[0].textContent = "ARBITRUM_MAINNET";
  row.cells[1].textContent = "USDC";
  row.querySelectorAll("td.end").forEach((one) => { one.textContent = "20,123,456.78…"; });
  row.querySelector(".badge").textContent = "not covered";
}); 1
"""
LOADED: Final = "document.readyState === 'complete' && !!document.querySelector('main')"


@dataclass(frozen=True, slots=True)
class Site:
    """A console that a browser reaches, with something on every page."""

    url: str
    services: Services
    ids: Mapping[str, str]
    visitors: Mapping[str, Iterable[Cookie]]


@pytest.fixture(scope="module")
def services(database: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    with serve_operators(database, tmp_path_factory.mktemp("services")) as made:
        yield made


@pytest.fixture
async def site(services: Services) -> AsyncIterator[Site]:
    long_word, long_text = ("", "") if GUIDE else ("W" * 80, "at length " * 180)
    reason = f"swap 42 has no deposit address {HOSTILE} {long_word}"
    why = {"reason": f"an incident is looked into {HOSTILE} {long_text}"}
    ids = {
        **await services.seed_payments(),
        "service": "settler",
        "network": "BASE_DEVNET",
        "source": SOURCE,
        "bad": BAD,
        "token": NATIVE,
        "parked": str(await services.park(reason)),
        "claimable": await services.receive_without_swap(95),
        "swap": str(await services.scalar(PAID)),
    }
    found = services.call("vic", f"/claimable/{ids['claimable']}")["claimable"]
    ids["deposit"] = found["deposit_id"]
    await services.park("not JSON", value=b"\xff\x00 no document")
    services.call("ann", "/payouts/stop", {"network": "BASE_DEVNET", **why})
    lifted = services.call("ann", "/payouts/go", {"network": "BASE_DEVNET", **why})
    ids["proposal"] = str(lifted["proposal"]["id"])
    services.call("ann", "/blocked", {"addresses": [BAD], "network": None, **why})
    cap = {"network": "BASE_DEVNET", "units": "5000000000", "seconds": 86400, **why}
    services.call("ann", "/caps", cap)
    await services.halt_signer("nonce 7 was used by a transaction that was not signed here")
    [signer] = services.call("vic", "/signers")["signers"]
    ids["signer"] = signer["address"]
    ids["retained"] = await services.retain_hold(await services.begin_recovery())
    async with served(services) as (url, visitors):
        yield Site(url, services, ids, visitors)


@asynccontextmanager
async def served(
    services: Services,
) -> AsyncIterator[tuple[str, Mapping[str, Iterable[Cookie]]]]:
    """Serve a console, and sign operators and a viewer in."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    console = Console(services, public_url=url)
    server = AsgiServer(console.parts.site, "127.0.0.1", port)
    await server.start()
    browsers = {name: await console.sign_in_as(name) for name in ("ann", "ben", "vic")}
    yield url, {name: list(one.client.cookies.jar) for name, one in browsers.items()}
    await server.stop()
    await console.http.close()


async def sign_in(page: Page, name: str) -> None:
    await page.until("!!document.querySelector('input[name=token]')")
    token = json.dumps(TOKENS[name])
    await page.value(f"document.querySelector('input[name=token]').value = {token}; 1")
    await page.value("document.querySelector('button.primary').click(); 1")
    await page.until("!!document.querySelector('.shell')")


async def press(page: Page, selector: str) -> None:
    """Press what loads another page, and wait until it is there."""
    pressed = f"document.querySelector({json.dumps(selector)})"
    await page.value(f"window.isLeaving = true; {pressed}.click(); 1")
    await page.until(f"!window.isLeaving && {LOADED}")


async def test_every_console_page_has_a_screen(services: Services) -> None:
    console = Console(services, public_url="http://console.test")
    assert find_unwalked(console.parts.site.routes, SCREENS, NOT_PAGES) == set()
    await console.http.close()


def test_every_entry_of_the_menu_has_a_picture_in_the_guide() -> None:
    pictures = set(re.findall(r"\(console/([\w-]+)\.webp\)", PAGE.read_text()))
    names = {screen.name for screen in (*LISTS, SIGNED_OUT[0])} - {"missing"}

    assert {ONE_OF.get(name, name) for name in names} <= pictures
    assert set(PICTURED) <= pictures


@pytest.mark.timeout(900)
@pytest.mark.slow
async def test_console_screens_pass_the_screen_checks(site: Site, tmp_path: Path) -> None:
    assert BROWSER is not None
    async with open_page(BROWSER, tmp_path, "about:blank") as page:
        walk = Walk(page, site.url, visitors=site.visitors, ids={"": site.ids}, may_cut_tables=True)
        await walk.over((*SIGNED_OUT, *LISTS, *SINGLE))
        title = await page.value("document.title")
        complaints = [one for one in page.complaints if not is_status(one)]

    assert not walk.faults, walk.report
    assert complaints == []
    assert title != "run"


@pytest.mark.skipif(not GUIDE, reason=NO_GUIDE)
async def test_other_pages_have_pictures(site: Site, tmp_path: Path) -> None:
    assert BROWSER is not None
    async with open_page(BROWSER, tmp_path, site.url + "/sign-in") as page:
        await look(page, "light", WIDE)
        await page.until("!!document.querySelector('input[name=token]')")
        await save_picture(page, "sign-in", at_least=720)
        await sign_in(page, "ann")
        for screen in (*LISTS, *SINGLE):
            if screen.name in PICTURED:
                path = (screen.route + screen.query).format_map(site.ids)
                await show(page, site.url + path)
                await save_picture(page, screen.name, top=PICTURED[screen.name])


async def test_balances_with_long_amounts_fit_the_screen(site: Site, tmp_path: Path) -> None:
    assert BROWSER is not None
    async with open_page(BROWSER, tmp_path, site.url + "/sign-in") as page:
        await sign_in(page, "ann")
        await look(page, "light", WIDE)
        await show(page, f"{site.url}/balances")
        await page.value(LONG_BALANCES)
        is_cut = await page.value(CUT)
        await picture(page, "balances-long")

    assert is_cut is False


async def test_order_is_given_by_keyboard_and_sent_once(site: Site, tmp_path: Path) -> None:
    assert BROWSER is not None
    before = len(site.services.call("vic", "/audit")["orders"])
    async with open_page(BROWSER, tmp_path, site.url + "/sign-in") as page:
        await sign_in(page, "ann")
        await show(page, f"{site.url}/parked/settler/{site.ids['parked']}")
        await page.value("document.querySelector('.order-form [name=reason]').focus(); 1")
        await page.send("Input.insertText", text="the address is known now")
        names = []
        for kind in ("keyDown", "keyUp"):
            await page.send("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab",
                            windowsVirtualKeyCode=9)  # fmt: skip
        names.append(await page.value("document.activeElement.textContent.trim()"))
        await press(page, ".order-form button")
        for scheme, width in LOOKS:
            await look(page, scheme, width)
            assert await violations(page) == []
            await picture(page, f"order-{scheme}-{width}")
        # Twice at once, as an impatient hand does; then the form again, as a reload does.
        await page.value(
            "const form = document.querySelector('.actions form');"
            "window.isLeaving = true; const again = new FormData(form);"
            "fetch(form.action, {method: 'POST', body: new URLSearchParams(again)});"
            "form.requestSubmit(); 1"
        )
        await page.until(f"!window.isLeaving && {LOADED}")
        await page.until("!!document.querySelector('.notice')")
        ended = await page.value("document.querySelector('.notice').textContent")
        await picture(page, "ordered-dark-360")

    assert names == ["Release …"]
    assert "Done" in ended or "carried out" in ended
    rows = site.services.call("vic", "/audit")["orders"]
    assert len(rows) == before + 1
    assert rows[0]["reason"] == "the address is known now"
