"""The pay page in a real browser: all states, axe's findings, updates, and no scripts."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from services.dashboard.tests.integration.test_screens import (
    AXE,
    BROWSER,
    NO_AXE,
    NO_BROWSER,
    show,
)
from services.dashboard.tests.payer import Link, a_link
from services.dashboard.tests.screens import PAY
from services.dashboard.tests.shop import Api, a_transaction, served_dashboard
from tests.plugins.postgres import Database
from tests.support.browser import Page, open_page
from tests.support.screens import WIDE, guide_image, look
from tests.support.walks import Walk, is_status

pytestmark = [
    pytest.mark.connected,
    pytest.mark.timeout(300),
    pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER),
    pytest.mark.skipif(not AXE.exists(), reason=NO_AXE),
]

# A wallet that takes every payment; the chain behind it never has one. A test may change `answers`.
WALLET = """
window.asked = [];
window.answers = {
  eth_requestAccounts: ["0x70997970C51812dc3A010C7d01b50e0d17dc79C8"],
  eth_chainId: "0x7a69",
  eth_sendTransaction: "0x" + "5f".repeat(32),
};
window.addEventListener("eip6963:requestProvider", () => {
  const request = async ({ method, params }) => {
    window.asked.push({ method, params });
    const answer = window.answers[method];
    if (answer?.code) throw Object.assign(new Error("the wallet's error"), answer);
    return answer;
  };
  const info = { uuid: "1", name: "Test wallet", icon: "", rdns: "example.wallet.test" };
  const detail = { info, provider: { request } };
  window.dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail }));
});
"""
OFFERED = "!!document.querySelector('[data-wallet]:not([disabled])')"
GUIDE = os.environ.get("GUIDE_PICTURES")
PICTURE_HEIGHT = 1060
CHOOSE = "document.querySelector('[data-wallet]').click()"
SENT = "window.asked.filter((one) => one.method === 'eth_sendTransaction')"


@dataclass(frozen=True, slots=True)
class Pages:
    url: str
    wallet: Link
    address: Link
    paying: Link
    done: Link

    def ids(self) -> dict[str, dict[str, str]]:
        links = {"wallet": self.wallet, "address": self.address, "paying": self.paying}
        return {
            "": {},
            **{
                name: {"swap_id": str(link.swap.swap_id), "token": link.token}
                for name, link in {**links, "done": self.done}.items()
            },
        }


@pytest.fixture
async def pages(database: Database, api: Api) -> AsyncIterator[Pages]:
    paid = (a_transaction("input"), a_transaction("output", status="pending", block_number=9))
    ended = (a_transaction("input"), a_transaction("output"))
    async with served_dashboard(database, api) as made:
        yield Pages(
            made.public_url,
            await a_link(api, may_set_refund_address=True),
            await a_link(api, method="deposit_address", refund_address="0x" + "7" * 40),
            await a_link(api, status="ls_transfer_pending", transactions=paid),
            await a_link(api, status="completed", transactions=ended),
        )


async def guide_picture(page: Page, url: str) -> None:
    """Write the image of docs/dashboard.md."""
    await look(page, "light", WIDE)
    await show(page, url)
    image = await guide_image(page, height=PICTURE_HEIGHT)
    (Path(str(GUIDE)) / "pay.webp").write_bytes(image)


async def test_pay_screens_pass_the_screen_checks(pages: Pages, tmp_path: Path) -> None:
    assert BROWSER is not None
    async with open_page(BROWSER, tmp_path, "about:blank") as page:
        walk = Walk(page, pages.url, ids=pages.ids())
        await walk.over(PAY)
        if GUIDE:
            await guide_picture(page, pages.url + pages.address.path())
        complaints = [one for one in page.complaints if not is_status(one)]

    assert not walk.faults, walk.report
    assert complaints == []


async def test_pay_page_shows_a_change_without_a_reload(
    pages: Pages, api: Api, tmp_path: Path
) -> None:
    assert BROWSER is not None
    link = pages.wallet
    async with open_page(BROWSER, tmp_path, pages.url + link.path()) as page:
        await page.until("!!document.querySelector('[data-kind=wallet]')")
        await page.value("window.isTheSame = true")
        await page.value("document.querySelector('[name=refund_address]').focus()")
        seen = a_transaction("input", status="pending", block_number=9)
        paying = {"sequence": 2, "status": "ls_transfer_pending", "transactions": (seen,)}
        await api.store(link.swap.model_copy(update=paying))

        await page.until("!!document.querySelector('[data-kind=waits]')")
        await page.until("document.body.textContent.includes('Paying out')")
        assert await page.value("window.isTheSame") is True
        assert await page.value("document.activeElement.name") == "refund_address"


ANSWER = """
window.looks = 0;
window.fetch = async () => { window.looks += 1; return new Response("", { status: %d }); };
document.dispatchEvent(new Event("pay:look"));
"""


@pytest.mark.parametrize("status", [404, 503])
async def test_polling_stops_or_slows_down_after_an_error(
    pages: Pages, tmp_path: Path, status: int
) -> None:
    assert BROWSER is not None
    async with open_page(BROWSER, tmp_path, pages.url + pages.paying.path()) as page:
        await page.until("!!document.querySelector('[data-kind=waits]')")
        await page.value(ANSWER % status)
        await page.until("window.looks === 1")
        await asyncio.sleep(4)  # longer than the page waits between two looks

        assert await page.value("window.looks") == 1


async def test_pay_page_reloads_once_at_the_deadline(pages: Pages, tmp_path: Path) -> None:
    assert BROWSER is not None
    async with open_page(BROWSER, tmp_path, pages.url + pages.address.path()) as page:
        await page.until("!!document.querySelector('[data-left]')")
        page.requests.clear()
        await page.value("document.querySelector('[data-left]').dataset.left = 0")
        await page.until("document.querySelector('[data-left]').dataset.isOver === '1'")
        await asyncio.sleep(1)
        await page.value("1")

    read = [one for one in page.requests if "/data?" not in one and "/events?" not in one]
    assert len(read) == 1


async def test_pay_page_works_without_scripts(pages: Pages, tmp_path: Path) -> None:
    assert BROWSER is not None
    async with open_page(BROWSER, tmp_path, "about:blank") as page:
        await page.send("Emulation.setScriptExecutionDisabled", value=True)
        await page.send("Page.navigate", url=pages.url + pages.address.path())
        tree = ""
        while "Send to this address" not in tree:
            found = await page.send("DOM.getDocument", depth=-1)
            tree = json.dumps(found)

    assert "viewBox" in tree
    assert '"refresh"' in tree  # it comes again by itself


@asynccontextmanager
async def with_wallet(pages: Pages, folder: Path) -> AsyncIterator[Page]:
    """Open the page of a swap, with a wallet to pay it."""
    assert BROWSER is not None
    async with open_page(BROWSER, folder, "about:blank") as page:
        await page.send("Page.addScriptToEvaluateOnNewDocument", source=WALLET)
        await show(page, pages.url + pages.wallet.path())
        await page.until(OFFERED)
        yield page
        assert page.complaints == []


def says(words: str) -> str:
    return f"document.body.textContent.includes({json.dumps(words)})"


def choose(name: str) -> str:
    return f"document.querySelector('[data-choice={name}]').click()"


class TestPayments:
    async def test_are_not_offered_again_once_sent(self, pages: Pages, tmp_path: Path) -> None:
        """On a slow network a payment is seen minutes later; a second one would be lost money."""
        async with with_wallet(pages, tmp_path) as page:
            await page.value(CHOOSE)
            await page.until(says("Sent. It appears here"))
            [sent] = await page.value(SENT)
            await page.send("Page.reload")
            await page.until(says("Sent. It appears here"))
            assert not await page.value(OFFERED)
            await page.value(choose("again"))
            await page.until(says("you pay twice"))
            await page.value(choose("back"))
            await page.until(says("Sent. It appears here"))
            await page.value(choose("again"))
            await page.value(choose("confirm"))
            await page.until(OFFERED)

        assert sent["params"][0]["chainId"] == "0x7a69"

    async def test_are_not_offered_again_before_the_wallet_answers(
        self, pages: Pages, tmp_path: Path
    ) -> None:
        async with with_wallet(pages, tmp_path) as page:
            await page.value("window.answers.eth_sendTransaction = new Promise(() => {})")
            await page.value(CHOOSE)
            await page.until(f"{SENT}.length === 1")
            await page.send("Page.reload")
            await page.until(says("A wallet was asked for this payment"))
            assert not await page.value(OFFERED)

    @pytest.mark.parametrize(("code", "is_offered"), [(4001, True), (-32603, False)])
    async def test_are_offered_again_only_after_the_user_declined(
        self, pages: Pages, tmp_path: Path, code: int, is_offered: bool
    ) -> None:
        words = "You declined it" if is_offered else "A wallet was asked for this payment"
        async with with_wallet(pages, tmp_path) as page:
            await page.value(f"window.answers.eth_sendTransaction = {{ code: {code} }}")
            await page.value(CHOOSE)
            await page.until(says(words))
            assert await page.value(OFFERED) is is_offered
            assert await page.value(says("the wallet's error")) is not is_offered

    async def test_are_blocked_while_another_tab_pays(self, pages: Pages, tmp_path: Path) -> None:
        """The other tab holds the lock, then sets its mark, then clears it."""
        key = json.dumps(f"sent:/pay/{pages.wallet.swap.swap_id}")
        changed = (
            f"window.dispatchEvent(new StorageEvent('storage', {{ key: {key},"
            f" newValue: localStorage.getItem({key}) }}))"
        )
        async with with_wallet(pages, tmp_path) as page:
            await page.value(f"navigator.locks.request({key}, () => new Promise(() => {{}})); 1")
            await page.value(CHOOSE)
            await page.until(says("open in another tab"))
            await page.value(f"localStorage.setItem({key}, 'asked'); {changed}")
            await page.until(says("A wallet was asked for this payment"))
            assert not await page.value(OFFERED)
            await page.value(f"localStorage.removeItem({key}); {changed}")
            await page.until(OFFERED)
            assert await page.value(f"{SENT}.length") == 0

    async def test_are_not_sent_after_another_tab_began_to_pay(
        self, pages: Pages, tmp_path: Path
    ) -> None:
        """The mark is set while this tab's wallet changes the network: no event came yet."""
        key = json.dumps(f"sent:/pay/{pages.wallet.swap.swap_id}")
        async with with_wallet(pages, tmp_path) as page:
            await page.value(
                "Object.defineProperty(window.answers, 'eth_chainId', { get() {"
                f" localStorage.setItem({key}, 'asked'); return '0x7a69'; }} }}); 1"
            )
            await page.value(CHOOSE)
            await page.until(says("A wallet was asked for this payment"))
            assert await page.value(f"{SENT}.length") == 0

    async def test_are_not_sent_after_the_deadline(self, pages: Pages, tmp_path: Path) -> None:
        async with with_wallet(pages, tmp_path) as page:
            await page.value(
                "const answered = Response.prototype.json;"
                "Response.prototype.json = async function () {"
                " const content = await answered.call(this);"
                " content.data.expires_at = '2020-01-01T00:00:00Z'; return content; }; 1"
            )
            await page.value(CHOOSE)
            await page.until(says("The time to pay is over"))
            assert await page.value(f"{SENT}.length") == 0
