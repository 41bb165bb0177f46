"""A payer with a link and a browser wallet pays a swap by each method, to its end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import gasless
from tests.e2e.injected_wallet import InjectedWallet
from tests.e2e.outside import Outside, Route, new_address
from tests.e2e.test_recipient_that_refuses import contract_that_refuses
from tests.support.browser import Page, find_browser, open_page
from tests.support.waiting import until

BROWSER = find_browser()
pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium here (.ci/run)")

COIN = Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.3")
TOKEN = Route("BASE_DEVNET", "USDC", "ETHEREUM_DEVNET", "USDC", "75.5")
METHODS: dict[str, tuple[Route, dict[str, bool]]] = {
    "direct": (COIN, {"use_depository": False}),
    "depository": (TOKEN, {"use_depository": True}),
    "deposit_address": (TOKEN, {"use_depository": False, "use_deposit_address": True}),
    "gasless": (TOKEN, {"use_depository": False, "use_gasless": True}),
}
WALLET_CALLS = {
    "direct": ["eth_sendTransaction"],
    "depository": ["eth_sendTransaction", "eth_getTransactionReceipt", "eth_sendTransaction"],
    "deposit_address": ["eth_sendTransaction"],
    "gasless": ["eth_signTypedData_v4"],
}
FIRST = ["eth_requestAccounts", "eth_chainId"]
CHANGED = ["wallet_switchEthereumChain", "wallet_addEthereumChain", "eth_chainId"]
USER = 3
WITHIN = 180.0


async def link_of(outside: Outside, swap_id: str, **query: Any) -> str:
    link = await outside.partner().get(f"/swaps/{swap_id}/pay_link", **query)
    return str(link["url"])


async def shows(page: Page, wallet: InjectedWallet, status: str) -> None:
    """Wait until the page shows a status; the wallet answers its requests meanwhile."""

    async def is_shown() -> bool:
        await wallet.answer(page)
        return bool(
            await page.value(f"document.querySelector('#pay')?.dataset.status === '{status}'")
        )

    await until(is_shown, what=f"the page shows {status}", within=WITHIN)


async def choose_wallet(page: Page) -> None:
    await page.until("!!document.querySelector('[data-wallet]:not([disabled])')")
    await page.value("document.querySelector('[data-wallet]').click()")


def without_repeats(methods: Sequence[str]) -> list[str]:
    return [one for n, one in enumerate(methods) if n == 0 or methods[n - 1] != one]


@pytest.mark.parametrize("method", METHODS)
async def test_a_wallet_pays_by_each_method(outside: Outside, tmp_path: Path, method: str) -> None:
    assert BROWSER is not None
    route, flags = METHODS[method]
    if method == "gasless":
        await gasless.offered_token(outside, route.source_network, route.source_token)
    recipient = new_address()
    prepared = await outside.partner().create(route, recipient, **flags)
    swap_id = prepared["swap"]["id"]
    url = await link_of(outside, swap_id)
    wallet = InjectedWallet(outside.user(route.source_network, USER))
    async with open_page(BROWSER, tmp_path, "about:blank") as page:
        await wallet.inject(page)
        await page.send("Page.navigate", url=url)
        await choose_wallet(page)
        await shows(page, wallet, "completed")
        text = await page.value("document.body.innerText")
        complaints = page.complaints

    [seen] = await outside.follow(swap_id)
    assert seen["swap"]["status"] == "completed"
    assert await outside.balance(route.destination_network, route.destination_token, recipient) > 0
    changed = [one for one in without_repeats(wallet.methods) if one not in FIRST]
    assert [one for one in changed if one not in CHANGED] == WALLET_CALLS[method]
    assert set(CHANGED) <= set(wallet.methods)
    assert "The money has arrived" in text
    assert "Payout" in text
    assert complaints == []


async def test_a_refund_goes_to_the_address_that_the_payer_set(
    outside: Outside, tmp_path: Path
) -> None:
    """The recipient refuses coins, and the wallet first declines."""
    assert BROWSER is not None
    recipient = await contract_that_refuses(outside, COIN.destination_network)
    prepared = await outside.partner().create(COIN, recipient, use_depository=False)
    swap_id, owner = prepared["swap"]["id"], new_address()
    url = await link_of(outside, swap_id, may_set_refund_address=True)
    user = outside.user(COIN.source_network, USER)
    wallet = InjectedWallet(user, declines=["eth_sendTransaction"])
    async with open_page(BROWSER, tmp_path, "about:blank") as page:
        await wallet.inject(page)
        await page.send("Page.navigate", url=url)
        await page.until("!!document.querySelector('[name=refund_address]')")
        fill = f"document.querySelector('[name=refund_address]').value = {json.dumps(owner)}"
        await page.value(fill)
        await page.value("document.querySelector('#refund form button').click()")
        await page.until(
            "location.hash === '#refund' && !document.querySelector('[name=refund_address]')"
        )
        await choose_wallet(page)

        async def is_declined() -> bool:
            await wallet.answer(page)
            status = await page.value(
                "document.querySelector('#wallet [role=status]')?.textContent"
            )
            return "You declined it in the wallet" in (status or "")

        await until(is_declined, what="the page says that it was declined", within=WITHIN)
        assert wallet.sent == []
        await choose_wallet(page)
        await shows(page, wallet, "refunded")
        text = await page.value("document.body.innerText")

    [seen] = await outside.follow(swap_id)
    assert [t["type"] for t in seen["swap"]["transactions"]] == ["input", "refund"]
    assert 0 < await outside.balance(COIN.source_network, "ETH", owner) < 3 * 10**17
    assert "The money went back" in text
