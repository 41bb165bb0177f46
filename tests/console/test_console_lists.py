"""Lists of more than a thousand rows: each row is on a page, and is opened by its id."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Final

import pytest

from services.settler.tests.admin_port import weighing
from services.settler.tests.fakes import FixedPrices
from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.lane_harness import DESTINATION, SOURCE, World
from swap_runtime.clock import utc_now
from swap_runtime.messaging.parked_routes import ParkedRoutes
from swap_runtime.operators.admin_routes import AdminRoute
from swap_runtime.postgres.sql import sql
from swap_settler.model.store.unit_of_work import CONSUMER
from swap_settler.operator.http.blocked import BlockedAdmin
from swap_settler.operator.http.books import BooksAdmin
from swap_settler.operator.http.caps import CapAdmin
from swap_settler.operator.http.partner_fees import FeeAdmin
from swap_settler.operator.http.records import RecordAdmin
from swap_settler.operator.store.backlogs import PostgresBacklogs
from swap_settler.operator.store.blocked import PostgresBlocked
from swap_settler.operator.store.caps import PostgresCaps
from swap_settler.operator.store.losses import PostgresLosses
from swap_settler.operator.store.partner_fees import PostgresFeeUnitOfWork
from swap_settler.operator.store.records import PostgresRecords
from swap_settler.operator.usecases.guard_losses import GuardLosses
from swap_settler.operator.usecases.inspect_records import InspectRecords
from swap_settler.operator.usecases.list_stuck import ListStuck
from swap_settler.operator.usecases.manage_blocked_addresses import ManageBlockedAddresses
from swap_settler.operator.usecases.manage_caps import ManageCaps
from swap_settler.operator.usecases.pay_partner_fees import PayPartnerFees
from swap_settler.operator.usecases.show_balances import ShowBalances
from swap_settler.settling.decide.dwelling import Dwell
from swap_settler.settling.store.dwelling import PostgresDwelling
from tests.console.operator_services import ADDRESS, Browser, Console, only_settler
from tests.plugins.postgres import Database

pytestmark = [pytest.mark.connected, pytest.mark.timeout(300)]
ROWS: Final = 1010
PAGE: Final = 50
FOLLOWING: Final = re.compile(
    r'aria-label="(Pages[^"]*)"><a class="button" href="([^"]+)" rel="next"'
)
SPENT: Final = re.compile(r'<a href="(/caps/\d+/spent)"><span [^>]*title="([0-9.,]+) ETH"')
CAP_PAGE: Final = re.compile(r'href="(/caps/one[^"]+)"')
# One swap and its payment, as often as there are rows.
COPIES: Final = f"""
INSERT INTO swap SELECT (jsonb_populate_record(one, jsonb_build_object(
    'id', gen_random_uuid(), 'match_key', 'copy ' || n, 'sequence_number', 1000 + n,
    'status', 'user_transfer_pending', 'expires_at', now() - interval '3 days'))).*
FROM swap AS one, generate_series(1, {ROWS}) AS n;
INSERT INTO intent SELECT (jsonb_populate_record(one, jsonb_build_object(
    'id', gen_random_uuid(), 'paid_id', 1000 + n, 'kind', 'partner_fee', 'swap_id', NULL,
    'app_id', gen_random_uuid(), 'state', 'reserved'))).*
FROM intent AS one, generate_series(1, {ROWS}) AS n;
INSERT INTO outflow_queue (intent_id, network, token, created_at, amount, is_too_large)
SELECT id, network, token, now(), 1, false FROM intent WHERE kind = 'partner_fee';
INSERT INTO intent SELECT (jsonb_populate_record(one, jsonb_build_object(
    'id', copy.id, 'paid_id', 5000 + copy.sequence_number, 'swap_id', copy.id,
    'state', 'broadcast', 'slot_at', now()))).*
FROM intent AS one, swap AS copy WHERE one.kind = 'output' AND copy.match_key LIKE 'copy %';
INSERT INTO outflow_cap (id, network, token, units, span, set_by, set_because)
OVERRIDING SYSTEM VALUE
SELECT 77, network, token, 9, '1 day', 'ann', 'so' FROM intent WHERE kind = 'output' LIMIT 1;
INSERT INTO outflow_counted (intent_id, cap_id, until, amount)
SELECT intent.id, cap.id, now() + paid_id % 7 * interval '1 minute', base_units
FROM outflow_cap AS cap, intent WHERE intent.state = 'broadcast';
INSERT INTO outflow_spent (cap_id, until, spent)
SELECT cap_id, until, sum(amount) FROM outflow_counted GROUP BY cap_id, until;
INSERT INTO account (kind, network, token, deposit_id, balance)
SELECT 'suspense', '{SOURCE}', '0x01', gen_random_uuid(), -n FROM generate_series(1, {ROWS}) AS n;
INSERT INTO account (kind, network, token, app_id, balance)
SELECT 'partner_fee', '{SOURCE}', '0x01', gen_random_uuid(), -n
FROM generate_series(1, {ROWS}) AS n;
INSERT INTO blocked_address (address, blocked_by, blocked_because)
SELECT '0x' || lpad(to_hex(n), 40, '0'), 'ann', 'so' FROM generate_series(1, {ROWS}) AS n;
INSERT INTO parked (consumer, topic, key, value, partition, "offset", message_id, reason, is_behind)
SELECT 'settler', 'deposit.changed.v1', 'key', 'value', 0, n, gen_random_uuid(), 'so', false
FROM generate_series(1, {ROWS}) AS n;
INSERT INTO account (kind, network, token)
VALUES ('loss', '{SOURCE}', '0x01'), ('equity', '{SOURCE}', '0x01');
WITH entry AS (
    INSERT INTO ledger_transaction (id, kind, swap_id, dedupe_key, at)
    SELECT id, 'lost', id, match_key, now() FROM swap WHERE match_key LIKE 'copy %' RETURNING id)
INSERT INTO posting (transaction_id, n, account_id, base_units)
SELECT entry.id, account.id, account.id, CASE account.kind WHEN 'loss' THEN 1 ELSE -1 END
FROM entry, account WHERE token = '0x01' AND account.kind IN ('loss', 'equity')
"""


@dataclass(frozen=True, slots=True)
class Listed:
    """A list of the console.

    :ivar row: the address of a row's own page, as the list has it.
    :ivar pager: the name of the way to its following page.
    :ivar more: rows beside the copies.
    """

    path: str
    row: re.Pattern[str]
    pager: str = "Pages"
    more: int = 0


ID: Final = "[0-9a-f-]{36}"
LISTS: Final = (
    Listed("/claimables", re.compile(r'href="(/claimables/\d+)"')),
    Listed("/stuck", re.compile(rf'href="(/swaps/{ID})"'), more=1),
    Listed("/losses", re.compile(rf'href="(/swaps/{ID})"')),
    Listed("/caps/77/spent", re.compile(rf'href="(/swaps/{ID})"')),
    Listed("/parked", re.compile(r'href="(/parked/settler/\d+)"')),
    Listed("/blocked", re.compile(r'href="(/blocked/one\?address=0x\w+)"'), "Pages: Blocked"),
    Listed("/payments", re.compile(rf'href="(/payments/queue/{ID})"'), "Pages: Held by a cap"),
    Listed("/payments", re.compile(r'href="(/payments/fees/\d+)"'), "Pages: Owed to partners"),
)


@pytest.fixture
async def world(migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_world(migrate_schema("settler"), DESTINATION) as world:
        await world.confirmed_swaps(1)
        async with world.engine.begin() as connection:
            for statement in COPIES.split(";"):
                await connection.execute(sql(statement))
        yield world


@pytest.fixture
async def browser(world: World, database: Database) -> AsyncIterator[Browser]:
    async with only_settler(world.engine, database, reads=reads_of(world), orders=()) as services:
        console = Console(services, public_url=ADDRESS)
        yield await console.sign_in_as("vic")
        await console.http.close()


def reads_of(world: World) -> list[AdminRoute]:
    """Return the lists of the settler, and one row of each."""
    engine, catalogue, networks = world.engine, world.catalogue, [SOURCE, DESTINATION]
    dwell = Dwell(payment=timedelta(hours=2), requote=timedelta(minutes=10))
    admin = RecordAdmin(
        InspectRecords(PostgresRecords(engine)),
        ListStuck(PostgresDwelling(engine, networks=networks), dwell, clock=utc_now),
    )
    caps = ManageCaps(PostgresCaps(engine, networks=networks), catalogue=catalogue)
    of_caps = CapAdmin(caps, weighing(engine, catalogue))
    of_fees = FeeAdmin(
        PayPartnerFees(
            PostgresFeeUnitOfWork(engine, consumer=CONSUMER),
            catalogue=catalogue,
            clock=utc_now,
            swap_messages=world.swap_messages,
            prices=FixedPrices(),
        )
    )
    blocked = BlockedAdmin(ManageBlockedAddresses(PostgresBlocked(engine), catalogue=catalogue))
    treasuries = {name: network.contracts.treasury for name, network in catalogue.networks.items()}
    books = BooksAdmin(
        ShowBalances(PostgresBacklogs(engine, treasuries=treasuries)),
        GuardLosses(PostgresLosses(engine), budgets={}, span=timedelta(days=1)),
        None,
        catalogue=catalogue,
    )
    parked = [one for one in ParkedRoutes(engine).routes() if one.method == "GET"]
    return [
        *parked,
        AdminRoute("GET", "/assets", books.assets),
        AdminRoute("GET", "/balances", books.balances),
        AdminRoute("GET", "/balances/accounts", books.accounts),
        AdminRoute("GET", "/balances/waiting", books.waiting),
        AdminRoute("GET", "/losses", books.losses),
        AdminRoute("GET", "/swaps/{id}", admin.swap),
        AdminRoute("GET", "/deposits/{id}", admin.deposit),
        AdminRoute("GET", "/stuck", admin.list_stuck),
        AdminRoute("GET", "/claimable", admin.claimable),
        AdminRoute("GET", "/claimable/{id}", admin.one_claimable),
        AdminRoute("GET", "/fees", of_fees.list_all),
        AdminRoute("GET", "/fees/{id}", of_fees.show),
        AdminRoute("GET", "/caps", of_caps.list_all),
        AdminRoute("GET", "/caps/{id}/spent", of_caps.list_spent),
        AdminRoute("GET", "/payouts/queue", of_caps.list_queued),
        AdminRoute("GET", "/payouts/queue/{id}", of_caps.one_queued),
        AdminRoute("GET", "/blocked", blocked.list_all),
        AdminRoute("GET", "/blocked/{address}", blocked.show),
    ]


async def pages_of(browser: Browser, one: Listed) -> list[list[str]]:
    """Return the rows of each page, as addresses, by following the list to its end."""
    pages, path = [], one.path
    while path:
        answer = await browser.get(path)
        assert answer.status_code == 200, answer.text
        pages.append(list(dict.fromkeys(one.row.findall(answer.text))))
        path = html.unescape(dict(FOLLOWING.findall(answer.text)).get(one.pager, ""))
    return pages


@pytest.mark.parametrize("one", LISTS, ids=lambda one: f"{one.path} {one.row.pattern}")
async def test_every_row_of_a_long_list_is_on_a_page_and_opens(
    browser: Browser, one: Listed
) -> None:
    pages = await pages_of(browser, one)
    rows = [row for page in pages for row in page]

    assert len(rows) == len(set(rows)) == ROWS + one.more
    assert {len(page) for page in pages[:-1]} == {PAGE}
    for row in (rows[0], rows[-1]):
        shown = await browser.get(row)
        assert shown.status_code == 200, shown.text


@pytest.mark.parametrize(
    "path",
    [
        "/claimables/999999999",
        f"/claimables/{'9' * 30}",
        "/payments/fees/999999999",
        "/payments/queue/00000000-0000-0000-0000-000000000009",
        f"/blocked/one?address=0x{'f' * 40}",
        "/blocked/one",
    ],
)
async def test_row_that_is_not_there_is_not_found(browser: Browser, path: str) -> None:
    assert (await browser.get(path)).status_code == 404


async def test_tiles_show_that_a_number_is_cut(browser: Browser) -> None:
    page = (await browser.get("/")).text
    tiles = re.findall(r'tile-label" href="([^"]+)".*?figure num">([^<]+)<', page)

    assert dict(tiles) | {"/stops": "", "/signers": "", "/approvals": ""} == {
        "/claimables": "1,000+",
        "/stuck": "1,000+",
        "/parked": "500+",
        "/payments": "1,000+",
        **dict.fromkeys(("/stops", "/signers", "/approvals"), ""),
    }


async def test_blocked_address_is_looked_up(browser: Browser) -> None:
    page = (await browser.get("/blocked")).text
    assert 'action="/blocked/one"' in page

    shown = await browser.get(f"/blocked/one?address=0x{hex(ROWS)[2:]:0>40}&network=")

    assert shown.status_code == 200
    assert "Unblock" not in shown.text  # a viewer reads
    of_one = await browser.get(f"/blocked/one?address=0x{hex(ROWS)[2:]:0>40}&network={SOURCE}")
    assert of_one.status_code == 404
    assert "look up all networks" in of_one.text  # it is blocked on all of them


async def test_spent_amount_of_a_cap_links_to_its_payments(browser: Browser, world: World) -> None:
    page = (await browser.get("/caps")).text
    [(path, spent)] = SPENT.findall(page)
    [(one,)] = await world.rows("SELECT base_units FROM intent WHERE kind = 'output' LIMIT 1")

    shown = (await browser.get(path)).text

    assert path == "/caps/77/spent"
    assert Decimal(spent.replace(",", "")) == ROWS * one.scaleb(-18)
    assert shown.count(f'title="{spent} ETH"') == 1
    each = f'title="{one.scaleb(-18).normalize()} ETH"'
    assert shown.count(each) == 2 * PAGE  # what counts, and the amount
    assert f'href="{path}"' in (await browser.get(html.unescape(CAP_PAGE.findall(page)[0]))).text
    gone = await browser.get("/caps/9/spent")
    assert (gone.status_code, "there is no such cap" in gone.text) == (404, True)


async def test_each_balance_links_to_the_accounts_that_it_is_made_of(browser: Browser) -> None:
    page = (await browser.get("/balances")).text

    links = re.findall(r'href="(/balances/accounts[^"]+)"', page)
    assert {link.rpartition("=")[2] for link in links} == {"held", "owed", "free"}
    shown = [(await browser.get(html.unescape(link))).text for link in links]

    assert any("In flight" in one and 'href="/swaps/' in one for one in shown)
    assert any("Custody" in one for one in shown)
    [waiting] = set(re.findall(r'href="(/balances/waiting[^"]+)"', page))
    assert 'href="/swaps/' in (await browser.get(html.unescape(waiting))).text
    wrong = await browser.get("/balances/accounts?network=BASE_DEVNET&token=0x01&side=both")
    assert (wrong.status_code, "side is held, owed or free" in wrong.text) == (400, True)
