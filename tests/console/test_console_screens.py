"""The console in a real browser: every look, axe, weight, keyboard and a double click."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest

from swap_runtime.http.asgi import AsgiServer
from tests.console.operated import BAD, HOSTILE, TOKENS, Console, Services, operated
from tests.plugins.postgres import Database
from tests.plugins.processes import free_port
from tests.support.browser import Page, find_browser, opened
from tests.support.screens import AXE, LOOKS, look, picture, show, violations

BROWSER = find_browser()
NO_BROWSER = "there is no Chromium here: nobody has looked at the console (.ci/run installs one)"
NO_AXE = "axe-core is not installed (make install-node-tools): nobody has checked the console"
pytestmark = [
    pytest.mark.connected,
    pytest.mark.timeout(400),
    pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER),
    pytest.mark.skipif(not AXE.exists(), reason=NO_AXE),
]
BYTES_MAX: Final = 100 * 1024
REQUESTS_MAX: Final = 10
LOADED: Final = "document.readyState === 'complete' && !!document.querySelector('main')"


@dataclass(frozen=True, slots=True)
class Site:
    """A console that a browser reaches, with something on every page."""

    url: str
    services: Services
    parked: int
    claimable: str
    swap: str
    proposal: str

    def pages(self) -> dict[str, str]:
        return {
            "overview": "/",
            "approvals": "/approvals",
            "stuck": "/stuck",
            "swap": f"/swaps/{self.swap}",
            "parked": "/parked",
            "message": f"/parked/settler/{self.parked}",
            "approval": f"/approvals/settler/{self.proposal}",
            "claimables": "/claimables",
            "rescues": "/rescues",
            "claimable": f"/claimables/{self.claimable}",
            "payments": "/payments",
            "balances": "/balances",
            "losses": "/losses",
            "stops": "/stops",
            "stop": "/stops/lift?kind=signing&network=BASE_DEVNET",
            "network": "/networks/BASE_DEVNET",
            "caps": "/caps",
            "cap": "/caps/one?network=BASE_DEVNET",
            "blocked": "/blocked",
            "signers": "/signers",
            "invariants": "/invariants",
            "recovery": "/recovery",
            "log": "/log",
            "sessions": "/sessions",
            "missing": "/nowhere",
        }


@pytest.fixture(scope="module")
def services(database: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    with operated(database, tmp_path_factory.mktemp("services")) as made:
        yield made


@pytest.fixture
async def site(services: Services) -> AsyncIterator[Site]:
    await services.seed()
    reason = f"swap 42 has no deposit address {HOSTILE} {'W' * 80}"
    parked = await services.park(reason)
    await services.park("not JSON", value=b"\xff\x00 no document")
    claimable = await services.suspended(95)
    why = {"reason": f"an incident is looked into {HOSTILE} {'at length ' * 180}"}
    services.ask("ann", "/payouts/stop", {"network": "BASE_DEVNET", **why})
    lifted = services.ask("ann", "/payouts/go", {"network": "BASE_DEVNET", **why})
    proposal = str(lifted["proposal"]["id"])
    services.ask("ann", "/blocked", {"addresses": [BAD], "network": None, **why})
    cap = {"network": "BASE_DEVNET", "units": "5000000000", "seconds": 86400, **why}
    services.ask("ann", "/caps", cap)
    await services.halt_signer("nonce 7 was used by a transaction that was not signed here")
    swap = await services.scalar("SELECT id::text FROM swap ORDER BY created_at LIMIT 1")
    async with served(services) as url:
        yield Site(url, services, parked, claimable, str(swap), proposal)


@asynccontextmanager
async def served(services: Services) -> AsyncIterator[str]:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    console = Console(services, public_url=url)
    server = AsgiServer(console.parts.site, "127.0.0.1", port)
    await server.start()
    yield url
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


async def test_every_screen_is_readable_in_every_look(site: Site, tmp_path: Path) -> None:
    assert BROWSER is not None
    found, wide = [], []
    async with opened(BROWSER, tmp_path, site.url + "/sign-in") as page:
        await page.until("!!document.querySelector('input[name=token]')")
        for scheme, width in LOOKS:
            await look(page, scheme, width)
            found += [("sign-in", scheme, width, one) for one in await violations(page)]
            await picture(page, f"sign-in-{scheme}-{width}")
        await sign_in(page, "ann")
        for name, path in site.pages().items():
            await show(page, site.url + path)
            for scheme, width in LOOKS:
                await look(page, scheme, width)
                found += [(name, scheme, width, one) for one in await violations(page)]
                if await page.value(f"document.documentElement.scrollWidth > {width}"):
                    wide.append((name, width))
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
    async with opened(BROWSER, tmp_path, site.url + "/sign-in") as page:
        await sign_in(page, "ann")
        for path in site.pages().values():
            page.requests.clear()
            await show(page, site.url + path)
            sizes = await page.value(
                "JSON.stringify(performance.getEntries().filter(e => e.encodedBodySize)"
                ".map(e => e.encodedBodySize))"
            )
            assert sum(json.loads(sizes)) <= BYTES_MAX, path
            assert len(page.requests) <= REQUESTS_MAX, path


async def test_an_order_is_given_by_the_keyboard_and_sent_once(site: Site, tmp_path: Path) -> None:
    assert BROWSER is not None
    before = len(site.services.ask("vic", "/audit")["orders"])
    async with opened(BROWSER, tmp_path, site.url + "/sign-in") as page:
        await sign_in(page, "ann")
        await show(page, f"{site.url}/parked/settler/{site.parked}")
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
    rows = site.services.ask("vic", "/audit")["orders"]
    assert len(rows) == before + 1
    assert rows[0]["reason"] == "the address is known now"


async def test_the_keyboard_reaches_everything_and_shows_where_it_is(
    site: Site, tmp_path: Path
) -> None:
    assert BROWSER is not None
    async with opened(BROWSER, tmp_path, site.url + "/sign-in") as page:
        await sign_in(page, "ann")
        await show(page, f"{site.url}/stops")
        names = []
        for _ in range(60):
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
    assert {"Overview", "Log of orders", "network", "reason", "Stop …"} <= set(names)
