"""A partner with a browser only: from the invitation to a webhook that is sent again.

`GUIDE_PICTURES=docs/dashboard` writes the pictures of docs/dashboard.md. Names are plain then;
otherwise every name that a partner may choose contains code.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest

from tests.e2e.test_management import BASE
from tests.plugins.stack import Stack
from tests.support.browser import Page, find_browser, open_page
from tests.support.screens import AXE, LOOKS, NARROW, WIDE, guide_image, look, violations

BROWSER = find_browser()
NO_BROWSER = "there is no Chromium here: nobody has looked at the dashboard (.ci/run installs one)"
NO_AXE = "axe-core is not installed (make install-node-tools): nobody has checked the dashboard"
pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER),
    pytest.mark.skipif(not AXE.exists(), reason=NO_AXE),
]
PASSWORD: Final = "correct horse battery"
GUIDE: Final = os.environ.get("GUIDE_PICTURES")
HOSTILE: Final = "" if GUIDE else '<script>document.title="run"</script>'
# Scheme, width and height of each picture.
PICTURED: Final = {
    "steps": ("light", WIDE, 800),
    "bench": ("light", WIDE, 1140),
    "swap": ("dark", WIDE, 800),
    "message": ("light", WIDE, 1160),
    "home": ("dark", NARROW, 800),
}
PICTURE_BYTES_MAX: Final = 60 * 1024
# Choose the radio button with the value, or enter the value in the field.
FILL: Final = """(selector, value) => {
  const fields = [...document.querySelectorAll(selector)];
  const one = fields.length > 1 ? fields.find((field) => field.value === value) : fields[0];
  if (one.type === "radio") one.click(); else { one.focus(); one.value = value; }
  return one.value;
}"""
STATUS: Final = "document.querySelector('.page-head .badge').textContent"


class Partner:
    """A partner at a browser, who reads the page and presses its buttons."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.faults: list[object] = []

    async def visit_pages(self, name: str) -> None:
        """Check the page in every scheme and width, and record its problems."""
        for scheme, width in LOOKS:
            await look(self.page, scheme, width)
            self.faults += [(name, scheme, width, one) for one in await violations(self.page)]
            if await self.page.value("document.documentElement.scrollWidth > innerWidth"):
                self.faults.append((name, "too wide", width))
            if GUIDE and PICTURED.get(name, ())[:2] == (scheme, width):
                image = await guide_image(self.page, width=width, height=PICTURED[name][2])
                store(Path(GUIDE) / f"{name}.webp", image)
        await look(self.page, "light", WIDE)

    async def go(self, path: str) -> None:
        url = path if path.startswith("http") else self.url + path
        await self.page.send("Page.navigate", url=url)
        await self.page.until(f"location.href === {json.dumps(url)} && {LOADED}")

    async def follow(self, text: str) -> None:
        """Follow the link with this text."""
        await self._leave(f"{found('a', text)}.click()")

    async def press(self, text: str) -> None:
        """Press the button with this text, which sends its form."""
        await self._leave(f"{found('button', text)}.click()")

    async def fill(self, form: str = "main form", /, **fields: str) -> None:
        for name, value in fields.items():
            arguments = json.dumps([f"{form} [name={name}]", value])
            result = await self.page.value(f"({FILL})(...{arguments})")
            assert result == value, f"{name} does not take {value}: {result}"

    async def text(self, selector: str = "main") -> str:
        return str(await self.page.value(f"document.querySelector('{selector}')?.innerText"))

    async def until_shown(self, words: str) -> None:
        await self.page.until(
            f"document.querySelector('main').innerText.includes({json.dumps(words)})"
        )

    async def path(self) -> str:
        return urlsplit(str(await self.page.value("location.href"))).path

    async def _leave(self, action: str) -> None:
        """Do an action that loads another page, and wait for it."""
        await self.page.until(f"!!{action.removesuffix('.click()')}")
        await self.page.value(f"window.isLeaving = true; {action}; true")
        await self.page.until(f"!window.isLeaving && {LOADED}")


def store(file: Path, content: bytes) -> None:
    assert len(content) <= PICTURE_BYTES_MAX, file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


LOADED: Final = "document.readyState === 'complete' && !!document.querySelector('main')"


def found(tag: str, text: str) -> str:
    """Return an expression for the first element of the page with a text."""
    shown = json.dumps(text)
    return f"[...document.querySelectorAll('{tag}')].find(e => e.innerText.trim() === {shown})"


def email_of(stack: Stack) -> str:
    """Return the email that is invited, and joins."""
    return "ada@shop.example" if GUIDE else f"ada-{stack.places.var.name}@shop.example"


@pytest.fixture
async def invitation(stack: Stack) -> str:
    name = f"Corner shop {HOSTILE}"
    made = await stack.order("api", f"{BASE}/organizations", {"name": name})
    path = f"{BASE}/organizations/{made['data']['id']}/invitations"
    invited = await stack.order("api", path, {"name": email_of(stack), "role": "owner"})
    return str(invited["data"]["token"])


@pytest.fixture
async def partner(stack: Stack, invitation: str, tmp_path: Path) -> AsyncIterator[Partner]:
    assert BROWSER is not None
    url = str(stack.description["dashboard"]["url"])
    async with open_page(BROWSER, tmp_path, f"{url}/join?invitation={invitation}") as page:
        yield Partner(page, url)


async def test_a_partner_needs_only_a_browser(partner: Partner, stack: Stack) -> None:
    await join(partner, email_of(stack))
    await make_app_and_key(partner)
    receiver = await join_bench(partner)
    await add_webhook(partner, receiver)
    await see_swap_complete(partner)
    await find_attempt_and_resend(partner)
    await see_figures(partner)

    assert partner.faults == []
    complaints = [one for one in partner.page.complaints if "422" not in one]
    assert complaints == []
    assert await partner.page.value("document.title") != "run"


async def join(partner: Partner, email: str) -> None:
    await partner.page.until(LOADED)
    await partner.fill(email=email, password=PASSWORD)
    await partner.press("Join")
    await partner.visit_pages("start")


async def make_app_and_key(partner: Partner) -> None:
    await partner.follow("Create an app")
    await partner.fill("form[action$='/apps']", name=f"checkout {HOSTILE}")
    await partner.press("Create app")
    await partner.fill(label=f"server {HOSTILE}")
    await partner.press("Create key")
    assert "svc_test_" in await partner.text(".secret")
    await partner.visit_pages("keys")
    await partner.follow("Home")
    assert "Getting started" in await partner.text()
    await partner.visit_pages("steps")


async def join_bench(partner: Partner) -> str:
    """Return the URL at which the bench receives webhooks."""
    await partner.follow("Test bench")
    await partner.visit_pages("bench-closed")
    await partner.press("Enable the test bench")
    return await partner.text("main > p > code")


async def add_webhook(partner: Partner, url: str) -> None:
    await partner.follow("Webhooks")
    await partner.fill(url=url)
    await partner.press("Add endpoint")
    assert "whsec_" in await partner.text(".secret")
    await partner.visit_pages("webhook")


async def see_swap_complete(partner: Partner) -> None:
    await partner.follow("Test bench")
    await partner.fill(source="ETHEREUM_DEVNET/ETH", destination="BASE_DEVNET/ETH")
    await partner.fill(amount="0.000000001", reference_id=HOSTILE)
    await partner.press("Create the swap")
    assert "0." in await partner.text("#trouble-amount"), await partner.text()
    await partner.visit_pages("bench")
    await partner.fill(amount="0.1", outcome="completed")
    await partner.press("Create the swap")
    await partner.page.value("window.isSamePage = true")
    await partner.page.until(f"{STATUS} === 'Completed'")
    await partner.until_shown("swap.completed")
    assert await partner.page.value("window.isSamePage")
    shown = await partner.text()
    assert HOSTILE in shown
    assert "Payout" in shown
    await partner.visit_pages("swap")


async def find_attempt_and_resend(partner: Partner) -> None:
    await partner.follow("swap.completed")
    await partner.until_shown("delivered")
    attempt = await partner.text()
    for words in ("webhook-signature", "content-type", "200", '"accepted":"swap.completed"'):
        assert words in attempt, words
    await partner.press("Resend")
    await partner.until_shown("The message is sent again.")
    await partner.page.until("document.querySelectorAll('.attempt').length === 2")
    await partner.visit_pages("message")


async def see_figures(partner: Partner) -> None:
    """Every step is ticked, and the numbers link to the swap and to its webhooks."""
    await partner.follow("Home")
    home = await partner.text()
    assert "Getting started" not in home
    assert "100.0 %" in home
    await partner.visit_pages("home")
    await partner.follow("100.0 %")
    assert "1 in all" in await partner.text()
