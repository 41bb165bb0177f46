"""The pages of a deposit, of a swap or of none, and of a swap, before a real ledger."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

import pytest

from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.integration.test_claims import OWNER, only_balance, ordered
from services.settler.tests.lane_harness import DESTINATION, World, a_deposit, a_funding
from swap_domain.catalogue import NATIVE
from tests.console.operator_services import ADDRESS, WITHOUT_SWAP, Browser, Console, only_settler
from tests.console.test_console_lists import reads_of
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected
PAYMENTS: Final = "Payments of this deposit alone, without failed ones"
CAP_OF_NOTHING: Final = f"""
INSERT INTO outflow_cap (network, token, units, span, set_by, set_because)
VALUES ('{DESTINATION}', '{NATIVE}', 5, '1 day', 'ann', 'so') RETURNING id"""
DEPOSIT: Final = re.compile(r'href="(/deposits/[0-9a-f-]{36})"')


@pytest.fixture
async def world(migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_world(migrate_schema("settler"), DESTINATION) as world:
        yield world


@pytest.fixture
async def browser(world: World, database: Database) -> AsyncIterator[Browser]:
    async with only_settler(world.engine, database, reads=reads_of(world), orders=()) as services:
        console = Console(services, public_url=ADDRESS)
        yield await console.sign_in_as("vic")
        await console.http.close()


def rows_of(page: str, title: str) -> list[str]:
    """Return the rows of a part of a page."""
    body = page.partition(f"{title}</h2>")[2].partition("</section>")[0]
    return re.findall(r"<tr>(.*?)</tr>", body.partition("<tbody>")[2], re.DOTALL)


async def test_deposit_without_a_swap_leads_to_its_balance_and_postings(
    world: World, browser: Browser
) -> None:
    message: Any = a_deposit(90, base_units="1234567890123456789", **WITHOUT_SWAP)
    await world.settle(message)
    claimables = (await browser.get("/claimables")).text
    [path] = DEPOSIT.findall(claimables)
    [balance] = set(re.findall(r'href="(/claimables/\d+)"', claimables))

    page = (await browser.get(path)).text

    assert path == f"/deposits/{message.body.deposit_id}"
    assert f'href="{path}"' in (await browser.get(balance)).text
    assert [f'href="{balance}"' in row for row in rows_of(page, "Balances")] == [True]
    ledger = rows_of(page, "Ledger")
    assert [re.findall(r'title="(-?[0-9.,]+) ETH"', row) for row in ledger] == [
        ["1.234567890123456789"],
        ["-1.234567890123456789"],
    ]
    for shown in (message.body.transaction_hash, message.body.to_address, "credited"):
        assert str(shown) in page


async def test_deposit_of_a_swap_is_linked_from_its_page(world: World, browser: Browser) -> None:
    await world.confirmed_swaps(1)
    [swap] = await world.rows("SELECT id FROM swap")
    [path] = set(DEPOSIT.findall((await browser.get(f"/swaps/{swap.id}")).text))

    page = (await browser.get(path)).text

    assert f'href="/swaps/{swap.id}"' in page
    assert rows_of(page, "Balances") == []
    assert len(rows_of(page, "Ledger")) == 2


async def test_swap_page_says_which_cap_holds_its_payment(world: World, browser: Browser) -> None:
    await world.rows(CAP_OF_NOTHING)
    await world.confirmed_swaps(1)
    await world.send_everything()
    [held] = await world.rows("SELECT id, swap_id FROM intent")

    [payment] = rows_of((await browser.get(f"/swaps/{held.swap_id}")).text, "Payments")

    reason = "larger than the cap of ETH: raise it, or let the payment through"
    assert f'<a href="/payments/queue/{held.id}">{reason}</a>' in payment


async def test_payment_by_an_operator_is_shown_until_a_reorg_removes_its_deposit(
    world: World, browser: Browser
) -> None:
    message: Any = a_deposit(90, **WITHOUT_SWAP)
    await world.settle(message)
    path = f"/deposits/{message.body.deposit_id}"
    assert rows_of((await browser.get(path)).text, PAYMENTS) == []

    await ordered(world, await only_balance(world))
    [payment] = rows_of((await browser.get(path)).text, PAYMENTS)
    await world.settle(a_deposit(90, version=3, state="reverted", **WITHOUT_SWAP))
    after = (await browser.get(path)).text

    for shown in ("Claim", "reserved", 'title="1 ETH"', OWNER):
        assert shown in payment
    assert rows_of(after, PAYMENTS) == rows_of(after, "Balances") == []
    assert "Claim released" in "".join(rows_of(after, "Ledger"))


async def test_refund_of_a_late_deposit_is_on_its_page_only(world: World, browser: Browser) -> None:
    await world.due_refunds(1)
    late: Any = a_deposit(1, deposit_id=a_funding(9).body.deposit_id)
    await world.settle(late)
    await world.starting_refunds()()
    [refund] = await world.rows("SELECT to_address FROM intent WHERE deposit_id IS NOT NULL")

    first = (await browser.get(f"/deposits/{a_deposit(1).body.deposit_id}")).text
    [payment] = rows_of((await browser.get(f"/deposits/{late.body.deposit_id}")).text, PAYMENTS)

    assert rows_of(first, PAYMENTS) == []
    assert "None. The page of the swap has its payments." in first
    for shown in ("Refund", "reserved", refund.to_address):
        assert shown in payment


@pytest.mark.parametrize("id", ["00000000-0000-0000-0000-000000000009", "none"])
async def test_unknown_deposit_is_not_found(browser: Browser, id: str) -> None:
    assert (await browser.get(f"/deposits/{id}")).status_code == 404


async def test_search_by_a_part_of_an_id_says_that_it_takes_whole_ids(browser: Browser) -> None:
    answer = await browser.get("/swaps?id=0192f0a1")

    assert answer.status_code == 404
    assert "A swap is found by its whole id" in answer.text
