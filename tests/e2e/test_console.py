"""Two operators with browsers: a balance paid by both, a stop lifted, a message released.

`GUIDE_PICTURES=docs/console` writes the pictures of docs/console.md.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import psycopg
import pytest

from tests.e2e.claims import deposits_in_suspense
from tests.e2e.outside import Outside, Route, new_address
from tests.e2e.test_attached_transfers import send_without_memo
from tests.plugins.stack import Stack
from tests.support.browser import Page, find_browser, open_page
from tests.support.screens import AXE, NARROW, WIDE, guide_image, look, violations
from tests.support.waiting import until

BROWSER = find_browser()
NO_BROWSER = "there is no Chromium here: nobody has looked at the console (.ci/run installs one)"
NO_AXE = "axe-core is not installed (make install-node-tools): nobody has checked the console"
pytestmark = [
    pytest.mark.slow,  # two operators go through every order
    pytest.mark.timeout(600),
    pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER),
    pytest.mark.skipif(not AXE.exists(), reason=NO_AXE),
]
GUIDE: Final = os.environ.get("GUIDE_PICTURES")
COIN: Final = Route("BASE_DEVNET", "USDC", "ETHEREUM_DEVNET", "USDC", "31.5")
PAID: Final = 31_500_000
PICTURE_HEIGHT: Final = 830
# Of pages that are longer, to the end of what the picture is about.
HEIGHTS: Final = {
    **{"overview": 850, "balances": 960, "stops": 1060},
    **{"claimable": 930, "approval": 950, "parked": 950},  # the forms are below the facts
}
LOADED: Final = "document.readyState === 'complete' && !!document.querySelector('main')"
REASON: Final = "the owner signed a message with this address"
PARK: Final = """
INSERT INTO settler.parked (consumer, topic, key, value, partition, "offset", message_id, reason,
                            is_behind)
VALUES ('settler', 'deposit.changed.v1', %s, %s, 0, %s, %s, %s, false) RETURNING id
"""
# A message that the settler has applied already; after its release it is skipped.
APPLIED: Final = """
SELECT key, payload FROM chain_watcher.outbox
WHERE topic = 'deposit.changed.v1' ORDER BY id LIMIT 1
"""

HALT: Final = """
UPDATE chain_watcher.watch_cursor SET halt_reason = %s, halted_at = now()
WHERE network = 'POLYGON_DEVNET'
"""


class Operator:
    """An operator at a browser, who reads the page and presses its buttons."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.faults: list[Any] = []

    async def sign_in(self, token: str) -> None:
        await self.page.until("!!document.querySelector('input[name=token]')")
        await self.fill(token=token)
        await self.press("Sign in")

    async def go(self, path: str) -> None:
        await self.page.send("Page.navigate", url=self.url + path)
        url = json.dumps(self.url + path)
        await self.page.until(f"location.href === {url} && {LOADED}")

    async def follow(self, text: str) -> None:
        await self._leave(f"{found('a', text)}.click()")

    async def press(self, text: str) -> None:
        await self._leave(f"{found('button', text)}.click()")

    async def fill(self, form: str = "main form", /, **fields: str) -> None:
        for name, value in fields.items():
            field = f"document.querySelector({json.dumps(f'{form} [name={name}]')})"
            await self.page.value(f"{field}.value = {json.dumps(value)}; 1")

    async def order(self, form: str, button: str, /, pictured: str = "", **fields: str) -> str:
        """Fill in the form of an order, review it, and confirm it; return the result."""
        await self.fill(f"form[action$='{form}']", **fields)
        await self.press(button)
        assert "Not ordered yet." in await self.text()
        if pictured:
            await self.picture(pictured)
        await self.press("Confirm the order")
        return await self.text(".notice")

    async def text(self, selector: str = "main") -> str:
        return str(await self.page.value(f"document.querySelector('{selector}')?.innerText"))

    async def picture(
        self,
        name: str,
        scheme: str = "light",
        width: int = WIDE,
    ) -> None:
        """Check the page with axe, and store its picture if pictures are made.

        :param name: of the picture; without it none is stored.
        """
        await look(self.page, scheme, width)
        self.faults += await violations(self.page)
        if GUIDE and name:
            height = HEIGHTS.get(name, PICTURE_HEIGHT)
            file = Path(GUIDE) / f"{name}.webp"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(await guide_image(self.page, width=width, height=height))
        await look(self.page, "light", WIDE)

    async def _leave(self, action: str) -> None:
        await self.page.until(f"!!{action.removesuffix('.click()')}")
        await self.page.value(f"window.isLeaving = true; {action}; true")
        await self.page.until(f"!window.isLeaving && {LOADED}")


def found(tag: str, text: str) -> str:
    """Return an expression for the first element of the page with a text."""
    shown = json.dumps(text)
    return f"[...document.querySelectorAll('{tag}')].find(e => e.innerText.trim() === {shown})"


@pytest.fixture
async def operators(stack: Stack, tmp_path: Path) -> AsyncIterator[tuple[Operator, Operator]]:
    """Two operators of a stack on which every amount needs both; each network can be halted."""
    assert BROWSER is not None
    await stack.restart("settler", SWAP_SETTLER__SECOND_OPERATOR_ABOVE_USD="0")
    await stack.restart("chain_watcher", SWAP_CHAIN_WATCHER__RESUMING_NEEDS_TWO="true")
    url = str(stack.description["console"]["url"])
    async with AsyncExitStack() as browsers:
        made = []
        for row in stack.description["operators"]:
            folder = tmp_path / row["name"]
            page = await browsers.enter_async_context(open_page(BROWSER, folder, f"{url}/sign-in"))
            operator = Operator(page, url)
            await operator.sign_in(row["token"])
            made.append(operator)
        first, second = made
        yield first, second
    await stack.restart("settler")
    await stack.restart("chain_watcher")


async def test_two_operators_need_only_browsers(
    stack: Stack, outside: Outside, operators: tuple[Operator, Operator]
) -> None:
    first, second = operators
    await visit_pages(first)
    await pay_claimable(stack, outside, first, second)
    await lift_stop(stack, first, second)
    await release_parked(stack, first)
    await resume_network(stack, first, second)
    await read_log(first)

    assert first.faults + second.faults == []
    assert first.page.complaints + second.page.complaints == []


async def visit_pages(first: Operator) -> None:
    await first.go("/")
    assert "Waiting" in await first.text()
    await first.picture("overview", "dark")
    await first.follow("Balances")
    assert "USDC" in await first.text()
    await first.picture("balances")
    await first.follow("Invariants")
    assert "35 of 35 hold" in await first.text()
    await first.picture("invariants")


async def pay_claimable(stack: Stack, outside: Outside, first: Operator, second: Operator) -> None:
    """Pay money that arrived without a swap: one operator orders it, the other approves."""
    id = await receive_without_swap(stack, outside)
    owner = new_address()
    await first.go(f"/claimables/{id}")
    assert "31.5 USDC" in await first.text()
    await first.picture("claimable")
    page = await first.order(
        "/pay", "Pay the balance …", pictured="order", to_address=owner, reason=REASON
    )
    assert "A different operator approves it" in page
    await first.follow("open the proposal")
    proposal = await first.text()
    assert "a different operator approves it" in proposal
    assert "31.5 USDC" in proposal

    await approve(second, "Pay a claimable balance", owner)
    await until(lambda: is_paid(stack, id), what="the balance is paid")

    async def has_arrived() -> bool:
        return await outside.balance(COIN.source_network, COIN.source_token, owner) == PAID

    await until(has_arrived, what="the owner has it")


async def receive_without_swap(stack: Stack, outside: Outside) -> int:
    before = {row["id"] for row in await deposits_in_suspense(stack)}
    prepared = await outside.partner().create(COIN, new_address(), use_depository=False)
    await send_without_memo(outside, COIN, prepared)

    async def came() -> list[int]:
        return [row["id"] for row in await deposits_in_suspense(stack) if row["id"] not in before]

    [id] = await until(came, what="money without a swap")
    return int(id)


async def is_paid(stack: Stack, id: int) -> bool:
    return id not in {row["id"] for row in await deposits_in_suspense(stack)}


async def lift_stop(stack: Stack, first: Operator, second: Operator) -> None:
    await first.go("/stops")
    page = await first.order(
        "/stops/add", "Stop …", network="POLYGON_DEVNET", reason="its fees look wrong"
    )
    assert "Done." in page
    await first.go("/stops")
    await first.picture("stops")
    await first.follow("POLYGON_DEVNET")
    page = await first.order("/stops/lift", "Lift the stop …", reason="the fees are right again")
    assert "A different operator approves it" in page
    await approve(second, "Lift a stop", "POLYGON_DEVNET", pictured="approval")
    assert (await stack.admin("settler", "/payouts/stops"))["stops"] == []


async def approve(second: Operator, title: str, words: str, *, pictured: str = "") -> None:
    """Approve the only pending order."""
    await second.go("/approvals")
    await second.follow(title)
    assert words in await second.text()
    await second.picture(pictured)
    page = await second.order("/approve", "Approve …", reason="I called who ordered it")
    assert "Done." in page


async def release_parked(stack: Stack, first: Operator) -> None:
    """Release a message that failed once, and that the settler has applied since."""
    with psycopg.connect(stack.superuser_url, autocommit=True) as connection:
        found_one = connection.execute(APPLIED).fetchone()
        assert found_one is not None
        key, value = found_one
        values = [key, value, uuid4().int % 10**9, uuid4(), "a lock was held for too long"]
        row = connection.execute(PARK, values).fetchone()
        assert row is not None
    id = row[0]
    await first.go("/")
    await first.follow("Parked messages")
    await first.follow(f"#{id}")
    assert '"deposit_id"' in await first.text()
    await first.picture("parked")
    page = await first.order("/release", "Release …", reason="the lock is gone")
    assert "Done." in page

    async def is_released() -> bool:
        path = f"/parked/{id}"
        return bool((await stack.admin("settler", path))["parked"]["state"] == "released")

    await until(is_released, what="the message is applied")


async def resume_network(stack: Stack, first: Operator, second: Operator) -> None:
    """Resume a halted network after its node agrees with the published facts."""
    with psycopg.connect(stack.superuser_url, autocommit=True) as connection:
        connection.execute(HALT, ["a block was replaced that was final"])
    await first.go("/stops")
    await first.follow("POLYGON_DEVNET")
    assert "a block was replaced that was final" in await first.text()
    page = await first.order("/resume", "Resume …", reason="the provider was replaced")
    assert "A different operator approves it" in page
    await approve(second, "Resume a network", "POLYGON_DEVNET")
    networks = (await stack.admin("chain_watcher", "/networks"))["networks"]
    assert [one["network"] for one in networks if one["halted"]] == []


async def read_log(first: Operator) -> None:
    await first.go("/log")
    page = await first.text()
    for words in (
        *("POST /claimable/{id}/pay", REASON, "POST /payouts/go", "the lock is gone"),
        *("POST /networks/{network}/resume", "the provider was replaced"),
    ):
        assert words in page, words
    await first.picture("log")
    await first.go("/")
    await first.picture("overview-phone", "dark", NARROW)
