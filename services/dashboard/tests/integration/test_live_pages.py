"""Pages that update themselves in a real browser: without a reload, and in place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import SecretStr

from services.dashboard.tests.shop import (
    DESTINATION,
    E18,
    PAYER,
    RECEIVER,
    SOURCE,
    Api,
    Dashboard,
    a_swap,
    a_transaction,
    served_dashboard,
)
from swap_contracts.swaps import SwapChanged, SwapTransaction
from swap_runtime.postgres.database import create_engine
from swap_runtime.postgres.sql import Statement, sql
from tests.plugins.postgres import Database
from tests.plugins.processes import free_port
from tests.support.browser import Page, find_browser, open_page
from tests.support.screens import WIDE, look, show

BROWSER = find_browser()
NO_BROWSER = "there is no Chromium here: nobody has looked at the dashboard (.ci/run installs one)"
pytestmark = [
    pytest.mark.connected,
    pytest.mark.timeout(300),
    pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER),
]
SWAPS: Final = 30  # more than a page
BLOCK: Final = 100
# The settler and the watcher do not run here: their rows are what the api reads.
NO_REFERENCES: Final = sql("SET LOCAL session_replication_role = replica")
ADD_EVENT: Final = sql("""
INSERT INTO settler.swap_transition (swap_id, sequence, from_status, to_status, at, cause)
VALUES (:swap_id, :sequence, :from_status, :to_status, :at, :cause)
""")
ADD_HEAD: Final = sql("""
INSERT INTO chain_watcher.watch_cursor (network, number, hash, parent_hash, time, finalized_number,
                                        start_number, checked_number)
VALUES (:network, :number, '0x', '0x', now(), 0, 0, 0)
ON CONFLICT (network) DO UPDATE SET number = excluded.number
""")
REMOVE_HEADS: Final = sql("DELETE FROM chain_watcher.watch_cursor")
# A reload would lose it.
MARK: Final = "window.isSamePage = true"
LIST_CHANGES: Final = "document.querySelector('[data-list-changes]').textContent"
IS_SAME: Final = "window.isSamePage === true"


@dataclass(frozen=True, slots=True)
class Site:
    """A dashboard that a browser reaches, with an app of a member who can sign in."""

    url: str
    app: str
    email: str
    link: str
    api: Api
    dashboard: Dashboard

    @property
    def swaps(self) -> str:
        return f"{self.url}/apps/{self.app}/swaps"


@pytest.fixture
async def site(database: Database, api: Api) -> AsyncIterator[Site]:
    organization = api.an_organization("Shop")
    app, email = api.an_app(organization, "checkout"), f"{free_port()}@shop.example"
    async with served_dashboard(database, api) as made:
        await made.browser().join(api.invite(organization), email)
        link = await made.parts.make_sign_in_link(email)
        assert link is not None
        yield Site(made.public_url, app, email, link, api, made)
    # Other modules have the same database.
    await write(database, (REMOVE_HEADS, {}))


@asynccontextmanager
async def signed_in(site: Site, folder: Path, path: str) -> AsyncIterator[Page]:
    assert BROWSER is not None
    async with open_page(BROWSER, folder, site.link) as page:
        await page.until("!!document.querySelector('button.primary')")
        await page.value("document.querySelector('button.primary').click()")
        await page.until("!!document.querySelector('.shell')")
        await look(page, "light", WIDE)
        await show(page, path)
        await page.value(MARK)
        yield page


async def store_swaps(site: Site) -> list[SwapChanged]:
    """Store more swaps than a page has, and return them, newest first."""
    now = datetime.now(UTC)
    swaps = [
        a_swap(site.app, reference_id=f"order-{number}", created_at=now - timedelta(minutes=number))
        for number in range(1, SWAPS + 1)
    ]
    await site.api.store(*swaps)
    return swaps


async def write(database: Database, *statements: tuple[Statement, dict[str, Any]]) -> None:
    url = database.superuser_url.replace("postgresql://", "postgresql+psycopg://", 1)
    engine = create_engine(SecretStr(url), application_name="test")
    try:
        async with engine.begin() as connection:
            await connection.execute(NO_REFERENCES)
            for statement, values in statements:
                await connection.execute(statement, values)
    finally:
        await engine.dispose()


async def last_seen(site: Site) -> datetime:
    """Return when the newest session was used last."""
    engine = create_engine(SecretStr(site.api.database.url("dashboard")), application_name="test")
    try:
        async with engine.connect() as connection:
            at = await connection.scalar(sql("SELECT max(last_seen_at) FROM session"))
    finally:
        await engine.dispose()
    assert isinstance(at, datetime)
    return at


def with_status(swap: SwapChanged, status: str) -> SwapChanged:
    changes = {"status": status, "sequence": swap.sequence + 1, "previous_status": swap.status}
    return swap.model_copy(update=changes)


def row(swap: SwapChanged) -> str:
    return f"document.querySelector('tr[data-swap=\"{swap.swap_id}\"]')"


def top_of(swap: SwapChanged) -> str:
    return f"Math.round({row(swap)}.getBoundingClientRect().top)"


def shows(swap: SwapChanged, words: str) -> str:
    return f"!!{row(swap)} && {row(swap)}.textContent.includes('{words}')"


def select_reference(swap: SwapChanged) -> str:
    return f"getSelection().selectAllChildren({row(swap)}.querySelector('.reference'))"


class TestList:
    async def test_shows_new_swaps_and_new_statuses_in_place(
        self, site: Site, tmp_path: Path
    ) -> None:
        swaps = await store_swaps(site)
        async with signed_in(site, tmp_path, site.swaps) as page:
            await page.value("scrollTo(0, 500)")
            await page.until("scrollY > 0")
            await page.value(select_reference(swaps[20]))
            before = await page.value(top_of(swaps[20]))

            await site.api.store(with_status(swaps[20], "completed"))
            await page.until(shows(swaps[20], "Completed"))
            announced = [
                await page.until("document.querySelector('[data-list-changes]').textContent")
            ]
            new = a_swap(site.app, reference_id="order-new", created_at=datetime.now(UTC))
            await site.api.store(new)
            await page.until(shows(new, "order-new"))
            announced.append(
                await page.until(f"{LIST_CHANGES} !== '{announced[0]}' && {LIST_CHANGES}")
            )
            first = await page.value("document.querySelector('tr[data-swap]').dataset.swap")
            rows = await page.value("document.querySelectorAll('tr[data-swap]').length")
            selected = await page.value("getSelection().toString()")
            after = await page.value(top_of(swaps[20]))
            total = await page.until(
                f"document.querySelector('[data-total]').textContent.includes('{SWAPS + 1}')"
            )
            is_same = await page.value(IS_SAME)
            role = await page.value("document.querySelector('[data-list-changes]').role")
            complaints = list(page.complaints)

        assert announced == ["1 swap changed.", "1 new swap."]
        assert role == "status"
        assert first == str(new.swap_id)
        assert rows == 25
        assert selected.strip() == "order-21"
        assert after == before
        assert total
        assert is_same
        assert complaints == []

    async def test_adds_new_swaps_only_on_its_first_page(self, site: Site, tmp_path: Path) -> None:
        swaps = await store_swaps(site)
        path = f"{site.swaps}?starting_after={swaps[4].swap_id}"
        async with signed_in(site, tmp_path, path) as page:
            new = a_swap(site.app, created_at=datetime.now(UTC))
            await site.api.store(new, with_status(swaps[10], "failed"))
            await page.until(shows(swaps[10], "Failed"))
            has_new = await page.value(f"!!{row(new)}")
            is_same = await page.value(IS_SAME)

        assert not has_new
        assert is_same

    async def test_adds_and_removes_swaps_by_its_filters(self, site: Site, tmp_path: Path) -> None:
        swaps = await store_swaps(site)
        async with signed_in(site, tmp_path, f"{site.swaps}?status=completed") as page:
            await page.until("document.body.textContent.includes('Nothing matches')")
            await site.api.store(with_status(swaps[3], "completed"))
            await page.until(shows(swaps[3], "Completed"))
            await site.api.store(with_status(with_status(swaps[3], "completed"), "refunded"))
            await page.until(f"!{row(swaps[3])}")
            is_same = await page.value(IS_SAME)

        assert is_same

    async def test_streams_of_one_member_are_limited(self, site: Site) -> None:
        browser = site.dashboard.browser()
        await browser.sign_in(site.email)
        path = f"/apps/{site.app}/swaps/live"
        streams = [asyncio.create_task(browser.get(path)) for _ in range(10)]
        await asyncio.sleep(2)

        refused = await browser.get(path)
        for stream in streams:
            stream.cancel()
        await asyncio.gather(*streams, return_exceptions=True)

        assert refused.status_code == 503
        assert "retry-after" in refused.headers

    async def test_a_stream_ends_with_its_session(self, site: Site) -> None:
        browser, elsewhere = site.dashboard.browser(), site.dashboard.browser()
        await browser.sign_in(site.email)
        await elsewhere.sign_in(site.email)
        [swap, *_] = await store_swaps(site)
        path = f"/apps/{site.app}/swaps/live"
        stream = asyncio.create_task(browser.get(path))
        await asyncio.sleep(1.5)

        await elsewhere.submit("/account/sign-out-everywhere", {}, page="/account")
        await site.api.store(with_status(swap, "completed"))
        async with asyncio.timeout(8):
            received = await stream

        assert "user_transfer_pending" in received.text
        assert "completed" not in received.text


IS_POLLING: Final = (
    "document.querySelector('[aria-labelledby=transactions]').matches('[data-poll]')"
)
PAYMENT: Final = a_transaction("input")
# Refunded on the network of the deposit.
REFUND: Final = a_transaction("refund", asset=SOURCE, base_units=str(E18), to_address=PAYER)


class TestSwap:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("moving", "earlier", "network", "statuses"),
        [
            (PAYMENT, (), SOURCE.network, ("user_transfer_pending", "ls_transfer_pending")),
            (
                a_transaction("output"),
                (PAYMENT,),
                DESTINATION.network,
                ("ls_transfer_pending", "completed"),
            ),
            (REFUND, (PAYMENT,), SOURCE.network, ("pending_refund", "refunded")),
        ],
        ids=["deposit", "payout", "refund"],
    )
    async def test_updates_confirmations_until_the_transaction_is_final(
        self,
        database: Database,
        site: Site,
        tmp_path: Path,
        *,
        moving: SwapTransaction,
        earlier: tuple[SwapTransaction, ...],
        network: str,
        statuses: tuple[str, str],
    ) -> None:
        row = f"#transaction-{len(earlier) + 1}"
        confirmations = f"document.querySelector('{row} progress').value"
        seen = moving.model_copy(update={"status": "pending", "block_number": BLOCK})
        swap = a_swap(site.app, status=statuses[0], transactions=(*earlier, seen))
        await site.api.store(swap)
        await write(database, (ADD_HEAD, {"network": network, "number": BLOCK}))
        async with signed_in(site, tmp_path, f"{site.swaps}/{swap.swap_id}") as page:
            await page.until(f"{confirmations} === 1")
            await page.value(
                f"getSelection().selectAllChildren(document.querySelector('{row} code'))"
            )
            await page.value(f"document.querySelector('{row} .copy').focus()")
            await write(database, (ADD_HEAD, {"network": network, "number": BLOCK + 1}))
            await page.until(f"{confirmations} === 2")
            selected = await page.value("getSelection().toString()")
            has_focus = await page.value(f"document.activeElement.matches('{row} .copy')")
            final = seen.model_copy(update={"status": "completed"})
            await site.api.store(
                with_status(swap, statuses[1]).model_copy(
                    update={"transactions": (*earlier, final)}
                )
            )
            await page.until(f"!{IS_POLLING}")
            page.requests.clear()
            await asyncio.sleep(4)
            is_same = await page.value(IS_SAME)
            later = [one for one in page.requests if one.endswith("/transactions")]

        assert is_same
        assert later == []
        assert selected.strip() != ""
        assert has_focus

    async def test_background_requests_do_not_extend_the_session(self, site: Site) -> None:
        browser = site.dashboard.browser()
        await browser.sign_in(site.email)
        swap = a_swap(site.app)
        await site.api.store(swap)
        page = f"/apps/{site.app}/swaps/{swap.swap_id}"
        reads = [(f"{page}/transactions", {}), (page, {"x-background": "1"})]

        seen = [await last_seen(site)]
        site.dashboard.ahead += timedelta(minutes=5)
        for path, headers in reads:
            answer = await browser.client.get(path, headers=headers)
            assert answer.status_code == 200
            seen.append(await last_seen(site))
        await browser.get(page)
        seen.append(await last_seen(site))

        assert seen[0] == seen[1] == seen[2]
        assert seen[3] - seen[0] >= timedelta(minutes=5)

    @pytest.mark.slow
    async def test_does_not_poll_while_its_tab_is_hidden(
        self, database: Database, site: Site, tmp_path: Path
    ) -> None:
        payout = a_transaction("output", status="pending", block_number=BLOCK)
        swap = a_swap(site.app, status="ls_transfer_pending", transactions=(payout,))
        await site.api.store(swap)
        await write(database, (ADD_HEAD, {"network": DESTINATION.network, "number": BLOCK}))
        async with signed_in(site, tmp_path, f"{site.swaps}/{swap.swap_id}") as page:
            await page.until("performance.getEntries().some(e => e.name.endsWith('/transactions'))")
            await page.value("Object.defineProperty(document, 'hidden', { value: true }); 1")
            await asyncio.sleep(1)
            page.requests.clear()
            await asyncio.sleep(7)
            still = await page.value(IS_POLLING)
            hidden = [one for one in page.requests if one.endswith("/transactions")]

        assert still
        assert hidden == []

    async def test_shows_causes_durations_and_links_of_figures(
        self, database: Database, site: Site, tmp_path: Path
    ) -> None:
        paid = a_transaction("input"), a_transaction("output")
        swap = a_swap(site.app, status="completed", reference_id="طلب-١٠٠٦", transactions=paid)
        await site.api.store(swap)
        at = datetime.now(UTC) - timedelta(hours=1)
        steps = [
            (None, "user_transfer_pending", "swap_requested", 0),
            ("user_transfer_pending", "ls_transfer_pending", None, 90),
            ("ls_transfer_pending", "completed", "payout_confirmed", 102),
        ]
        events = [
            {
                "swap_id": swap.swap_id,
                "sequence": number,
                "from_status": before,
                "to_status": after,
                "at": at + timedelta(seconds=seconds),
                "cause": cause,
            }
            for number, (before, after, cause, seconds) in enumerate(steps, start=1)
        ]
        await write(database, *((ADD_EVENT, event) for event in events))
        async with signed_in(site, tmp_path, f"{site.swaps}/{swap.swap_id}") as page:
            shown = await page.value(
                "[...document.querySelectorAll('.timeline li')].map(li => li.textContent)"
            )
            lost = await page.value(
                "[...document.querySelectorAll('main a[href^=\"#\"]')].map(a => a.hash)"
                ".filter(hash => !document.querySelector(hash))"
            )
            delivered = await page.value(
                "[...document.querySelectorAll('dt')].find(one => one.textContent === 'Delivered')"
                ".nextElementSibling.querySelector('a').hash"
            )
            direction = await page.value(
                "[...document.querySelectorAll('dd')].filter(one => one.textContent.includes("
                f"'{swap.reference_id}')).map(one => getComputedStyle(one))"
                ".map(style => [style.direction, style.textAlign])"
            )
            address = await page.value(
                f"(code => [code.textContent, getComputedStyle(code.parentElement).direction])"
                f"(document.querySelector('bdi code[title=\"{RECEIVER}\" i]'))"
            )

        assert "Partner: swap requested through the API" in shown[0]
        assert "1 min 30 s until the next" in shown[0]
        assert ["Network" in shown[1], "12.0 s until" in shown[1]] == [False, True]
        assert ["Network: payout final" in shown[2], "until" in shown[2]] == [True, False]
        assert lost == []
        assert delivered == "#transaction-2"
        assert direction == [["rtl", "left"]]
        assert address == [f"{RECEIVER[:10]}…{RECEIVER[-8:]}", "ltr"]
