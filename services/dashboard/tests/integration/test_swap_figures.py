"""What a swap's page says of its figures in a real browser: true at every moment, and provable."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest

from services.dashboard.tests.integration.test_live_pages import (
    BROWSER,
    IS_SAME,
    NO_BROWSER,
    Site,
    signed_in,
    site,
    with_status,
    write,
)
from services.dashboard.tests.shop import COIN, Api, a_swap, a_transaction
from swap_contracts.quoting import Quote
from swap_contracts.swaps import SwapChanged
from swap_domain.catalogue import NATIVE
from swap_runtime.postgres.sql import Statement, sql
from tests.plugins.postgres import Database
from tests.support.browser import Page

__all__ = ["site"]
pytestmark = [
    pytest.mark.connected,
    pytest.mark.timeout(300),
    pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER),
]
# The settler does not run here: its rows are what the api reads.
ADD_QUOTES: Final = sql("""
WITH present AS (
  INSERT INTO settler.swap (
    id, app_id, sequence_number, match_key, sequence, status, method, source_network, source_token,
    source_decimals, destination_network, destination_token, destination_decimals,
    destination_address, requested_base_units, payout_base_units, fee_base_units, quote,
    quote_revision, quote_expires_at, created_at, expires_at, changed_at, trace_id)
  VALUES (:swap_id, :swap_id, :number, CAST(:swap_id AS text), 1, 'completed', 'direct',
          'A', '0x', 18, 'B', '0x', 6, '0x', 1, 1, 0,
          CAST(:quote AS jsonb), 1, now(), now(), now(), now(), ''))
INSERT INTO settler.replaced_quote (swap_id, revision, quote)
VALUES (:swap_id, 0, CAST(:first AS jsonb))
""")
ADD_ENTRY: Final = sql("""
INSERT INTO settler.ledger_transaction (id, kind, dedupe_key, swap_id, at)
VALUES (:id, :kind, CAST(:id AS text), :swap_id,
        now() + CASE :kind WHEN 'payout_final' THEN interval '1 s' ELSE interval '0' END)
""")
ADD_POSTING: Final = sql("""
WITH mine AS (
  INSERT INTO settler.account (kind, network, token, swap_id)
  VALUES (:kind, :network, :token, CAST(:swap_id AS uuid))
  ON CONFLICT (kind, network, token, swap_id, deposit_id, address, app_id)
  DO UPDATE SET kind = excluded.kind RETURNING id)
INSERT INTO settler.posting (transaction_id, n, account_id, base_units)
SELECT :id, :n, mine.id, :base_units FROM mine
""")
FIGURES: Final = """
[...document.querySelectorAll('.facts dd > a[href^="#entry-"]')].map(link => [
  link.closest('div').querySelector('dt').textContent,
  [...document.querySelectorAll(`${link.hash} tr td:nth-child(4)`)].some(
    cell => cell.textContent.replace('-', '') === link.textContent.trim().split(/\\s/)[0])])
"""
AGE: Final = "document.querySelector('#transaction-1 time').textContent"


def an_entry(
    swap: SwapChanged, kind: str, *lines: tuple[str, bool, int, bool]
) -> list[tuple[Statement, dict[str, Any]]]:
    """
    :param lines: account, whether it is in the source token, base units, whether it is the swap's.
    """
    id = uuid4()
    postings = [
        {
            "id": id,
            "n": n,
            "kind": account,
            "network": "ETHEREUM_DEVNET" if is_source else "BASE_DEVNET",
            "token": NATIVE if is_source else COIN,
            "swap_id": swap.swap_id if is_own else None,
            "base_units": units,
        }
        for n, (account, is_source, units, is_own) in enumerate(lines)
    ]
    entry = {"id": id, "kind": kind, "swap_id": swap.swap_id}
    return [(ADD_ENTRY, entry), *((ADD_POSTING, posting) for posting in postings)]


def a_settled_swap(database: Database, swap: SwapChanged, first: Quote) -> Any:
    """Write the quotes of a completed swap, and what was booked for it in one moment."""
    quote, paid = swap.quote, swap.transactions[1]
    requested, fee = int(quote.requested_base_units), int(quote.total_fee_base_units)
    payout = int(paid.base_units)
    values = {
        "swap_id": swap.swap_id,
        "number": swap.sequence_number,
        "quote": quote.model_dump_json(),
        "first": first.model_dump_json(),
    }
    return write(
        database,
        (ADD_QUOTES, values),
        *an_entry(
            swap, "payout_reserved",
            ("swap_liability", False, payout, True), ("in_flight", False, -payout, True),
        ),
        *an_entry(
            swap, "quote_executed",
            ("swap_liability", True, requested, True), ("position", True, fee - requested, False),
            ("fee_income", True, -fee, False), ("position", False, payout, False),
            ("swap_liability", False, -payout, True),
        ),
        *an_entry(
            swap, "credited",
            ("equity", True, requested, False), ("swap_liability", True, -requested, True),
        ),
        *an_entry(
            swap, "payout_final",
            ("in_flight", False, payout, True), ("equity", False, -payout, False),
        ),
    )  # fmt: skip


async def facts(page: Page) -> dict[str, str]:
    """Return the facts of the page by their names."""
    found = await page.value(
        "[...document.querySelectorAll('.facts > div')].map(one =>"
        " [...one.children].map(part => part.textContent.replace(/\\s+/g, ' ').trim()))"
    )
    return dict(found)


async def test_partial_deposit_shows_the_first_quote_and_figures_link_to_ledger_entries(
    database: Database, site: Site, tmp_path: Path
) -> None:
    payout = 1_797_600_043
    first = a_swap(site.app).quote
    part = first.model_copy(
        update={
            "requested_base_units": str(6 * 10**17),
            "receive_base_units": str(payout),
            "min_receive_base_units": "1788612043",
            "blockchain_fee_base_units": "14354000000",
            "service_fee_base_units": "600000000000000",
            "total_fee_base_units": "600014354000000",
        }
    )
    paid = (
        a_transaction("input", base_units=str(6 * 10**17)),
        a_transaction("output", base_units=str(payout)),
    )
    swap = a_swap(site.app, status="completed", quote=part, quote_revision=1, transactions=paid)
    await site.api.store(swap)
    await a_settled_swap(database, swap, first)
    async with signed_in(site, tmp_path, f"{site.swaps}/{swap.swap_id}") as page:
        notice = await page.value("document.querySelector('.notice-warning').textContent")
        shown = await facts(page)
        proven = await page.value(FIGURES)
        entries = await page.value(
            "[...document.querySelectorAll('.ledger .group [title]')].map(one => one.title)"
        )

    notice = " ".join(notice.split())
    assert "The first quote was 1 ETH for 2,996 USDC. 0.6 ETH arrived, 60 % of it." in notice
    assert "The new quote is 0.6 ETH for 1,797.600043 USDC." in notice
    assert shown["First quoted"] == "2,996 USDC"
    assert shown["Delivered"] == "1,797.600043 USDC"
    assert shown["Difference"].startswith("0 USDC")
    assert shown["Network fee"].startswith("0.000000014354 ETH")
    assert shown["All fees"].startswith("0.000600014354 ETH")
    assert shown["From"].startswith("Ethereum 0x")
    assert dict(proven) == {"Quoted": True, "Delivered": True, "All fees": True}
    assert entries == ["credited", "quote_executed", "payout_reserved", "payout_final"]


async def test_payout_counts_as_delivered_once_it_is_final(
    site: Site, api: Api, tmp_path: Path
) -> None:
    seen = a_transaction("input", status="initiated")
    swap = a_swap(site.app, transactions=(seen,))
    await api.store(swap)
    final = seen.model_copy(update={"status": "completed"})
    sent = a_transaction("output", status="initiated")
    paid = sent.model_copy(update={"status": "completed"})
    paying = with_status(swap, "ls_transfer_pending").model_copy(
        update={"transactions": (final, sent)}
    )
    completed = with_status(paying, "completed").model_copy(update={"transactions": (final, paid)})
    words = "document.querySelector('[data-progress]')?.textContent"
    async with signed_in(site, tmp_path, f"{site.swaps}/{swap.swap_id}") as page:
        stages = [(await page.value(words), await facts(page))]
        for one in (paying, completed):
            await api.store(one)
            await page.value("reload(); 1")
            await page.until(
                "document.querySelector('.page-head .badge').textContent =="
                f" '{'Paying out' if one is paying else 'Completed'}'"
            )
            stages.append((await page.value(words), await facts(page)))
        is_same = await page.value(IS_SAME)

    (_, before), (_, during), (_, after) = stages
    assert [shown for shown, _ in stages] == [
        "Deposit seen, confirming",
        "Payout sent, confirming",
        None,
    ]
    assert before["Delivered"] == "nothing yet"
    assert during["Not final yet"].startswith("2,996 USDC")
    assert not {"Delivered", "Difference"} & during.keys()
    assert after["Delivered"] == "2,996 USDC"
    assert "Not final yet" not in after
    assert is_same


async def test_ages_are_updated_after_the_end_of_a_swap(
    site: Site, api: Api, tmp_path: Path
) -> None:
    swap = a_swap(site.app, status="completed", transactions=(a_transaction("input"),))
    await api.store(swap)
    async with signed_in(site, tmp_path, f"{site.swaps}/{swap.swap_id}") as page:
        before = await page.value(AGE)
        page.requests.clear()
        await page.until(f"{AGE} !== {before!r}")
        requests = list(page.requests)

    assert before.endswith("s ago")
    assert requests == []


async def test_chart_axes_end_above_the_data_and_empty_charts_say_so(
    site: Site, api: Api, tmp_path: Path
) -> None:
    await api.store(a_swap(site.app))
    async with signed_in(site, tmp_path, f"{site.url}/apps/{site.app}") as page:
        await page.until("document.querySelectorAll('[data-chart]')[2].textContent !== ''")
        shown = await page.value(
            "[...document.querySelectorAll('[data-chart]')].map(one => one.textContent)"
        )
        tops = await page.value("[0, 0.3, 2.1, 7, 21, 100].map(high => topOf(high, '$'))")
        counts = await page.value("[1, 1.5, 2, 7, 11].map(high => topOf(high, ''))")
        seconds = await page.value("[3.5, 20, 45, 130].map(high => topOf(high, 's'))")
        links = await page.value(
            "[...document.querySelectorAll('#days a')].map(one => one.textContent).join()"
        )

    assert shown == ["Nothing to show yet."] * 3
    assert tops == [1, pytest.approx(0.3), 3, 8, 30, 100]
    assert counts == [1, 2, 2, 8, 15]
    assert seconds == [4, 20, 45, 180]
    assert "\N{EN DASH}" not in links
