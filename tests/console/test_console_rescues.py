"""A token outside the catalogue: looked up, ordered back and approved in the console."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from services.settler.tests.admin_port import weighing
from services.settler.tests.integration.test_rescuing import STRANGE, Place, place
from services.settler.tests.lane_harness import SOURCE, TREASURY, a_recipient
from swap_runtime.operators.admin_routes import AdminRoute, OrderRoute
from swap_settler.operator.http.books import BooksAdmin
from swap_settler.operator.http.second_operator import SecondOperator
from swap_settler.operator.store.backlogs import PostgresBacklogs
from swap_settler.operator.store.losses import PostgresLosses
from swap_settler.operator.usecases.guard_losses import GuardLosses
from swap_settler.operator.usecases.show_balances import ShowBalances
from tests.console.guide import GUIDE, save_picture
from tests.console.operator_services import ADDRESS, Console, Services, only_settler
from tests.console.operators import two_browsers
from tests.console.screens import AFTER_APPROVAL, AFTER_ORDER, RESCUES
from tests.console.test_console_screens import BROWSER, NO_AXE, NO_BROWSER, served
from tests.plugins.postgres import Database
from tests.support.browser import open_page
from tests.support.screens import AXE, NARROW, WIDE, look, show
from tests.support.walks import Walk

__all__ = ["place"]  # a fixture

pytestmark = [pytest.mark.connected, pytest.mark.timeout(200)]
OWNER = a_recipient(8)
REASON = f"{'the owner signed a message, ' * (1 if GUIDE else 40)}and we called back"
PROPOSAL = re.compile(r'href="(/approvals/settler/[0-9a-f-]+)"')
# The routes of the page, and the parts of them that are on more than one line.
ROUTES = """
(() => {
  const routes = [...document.querySelectorAll(".route-text")];
  const isBroken = (part) => {
    const range = document.createRange();
    range.selectNodeContents(part);
    return range.getClientRects().length > 1;
  };
  const parts = routes.flatMap((one) => [...one.childNodes]);
  return { count: routes.length, broken: parts.filter(isBroken).map((one) => one.textContent) };
})()
"""
OTHERS = """
INSERT INTO operator_proposal (id, action, target, body, why, proposed_by, proposed_at, expires_at)
SELECT gen_random_uuid(), 'POST /caps', '{}', '{}', 'it is large', 'cy', now() - interval '1 hour',
       now() + interval '1 hour'
FROM generate_series(1, 501)
"""


@pytest.fixture
async def services(place: Place, database: Database) -> AsyncIterator[Services]:
    """The settler's internal port with what a rescue needs, on a chain in memory."""
    engine, catalogue, admin = place.world.engine, place.world.catalogue, place.admin
    second = SecondOperator(weighing(engine, catalogue))
    books = BooksAdmin(
        ShowBalances(PostgresBacklogs(engine, treasuries={})),
        GuardLosses(PostgresLosses(engine), budgets={}, span=timedelta(days=1)),
        None,
        catalogue=catalogue,
    )
    reads = [
        AdminRoute("GET", "/assets", books.assets),
        AdminRoute("GET", "/rescues", admin.list_all),
        AdminRoute("GET", "/rescues/{network}/{hash}", admin.show),
    ]
    order = OrderRoute(
        "/rescues/{network}/{hash}", admin.order, second.returns_tokens, admin.add_transfers
    )
    async with only_settler(engine, database, reads=reads, orders=[order]) as made:
        yield made


@asynccontextmanager
async def opened_console(services: Services) -> AsyncIterator[Console]:
    console = Console(services, public_url=ADDRESS)
    yield console
    await console.http.close()


async def test_two_operators_return_a_token_outside_the_catalogue(
    place: Place, services: Services
) -> None:
    transaction_hash = await place.transfers(TREASURY)
    async with opened_console(services) as console:
        ann, ben = await console.sign_in_as("ann"), await console.sign_in_as("ben")
        found = await ann.get("/rescues/find", params={"network": SOURCE, "hash": transaction_hash})
        page = found.headers["location"]
        shown = (await ann.get(page)).text
        assert "does not know it" in shown
        assert STRANGE in shown

        fields = {"transfer": f"{STRANGE} {OWNER}", "to_address": OWNER, "reason": REASON}
        order = await ann.review(f"{page}/order", fields, page=page)
        assert REASON in (await ann.get(order)).text
        ordered = await ann.confirm(order)
        assert "A different operator approves it" in ordered
        proposal = PROPOSAL.search(ordered)
        assert proposal is not None
        assert proposal[1] in (await ben.get("/rescues")).text
        assert REASON in (await ben.get(proposal[1])).text
        forced = await ann.review(f"{proposal[1]}/approve", {}, page=proposal[1])
        assert "A different operator must approve" in await ann.confirm(forced)

        approve = await ben.review(f"{proposal[1]}/approve", {}, page=proposal[1])
        assert OWNER in (await ben.get(approve)).text
        done = await ben.confirm(approve)
        assert "Done." in done
        assert "<dt>State</dt>" not in done  # it was open when the order was made

        calls = (await ben.get(page)).text
        assert "Sent by the owner of the Treasury" in calls
        assert "ann, approved by ben" in calls
        assert REASON in (await ben.get("/rescues")).text


@pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER)
@pytest.mark.skipif(not AXE.exists(), reason=NO_AXE)
async def test_two_operators_return_an_unknown_token_in_two_browsers(
    place: Place, services: Services, tmp_path: Path
) -> None:
    assert BROWSER is not None
    transaction_hash = await place.transfers(TREASURY)
    fields = {"transfer": f"{STRANGE} {OWNER}", "to_address": OWNER, "reason": REASON}
    async with (
        served(services) as (url, cookies),
        two_browsers(BROWSER, tmp_path, url, cookies) as (ann, ben),
    ):
        found = await ann.submit_search(
            "/rescues", "/rescues/find", {"network": SOURCE, "hash": transaction_hash}
        )
        ordered = await ann.order(found, "/order", fields)
        walks = [
            Walk(page, url, visitors=cookies, ids={"": {}}, may_cut_tables=True)
            for page in (ann.page, ben.page)
        ]
        await walks[0].over(AFTER_ORDER)
        proposal = await ann.proposal()

        await ben.follow("/rescues", proposal)
        approved = await ben.order(proposal, "/approve", {"reason": "I called the owner"})
        await walks[1].over(AFTER_APPROVAL)
        log = await ben.text()
        await look(ben.page, "light", NARROW)
        routes = await ben.page.value(ROUTES)
        page = await ann.read(found)
        complaints = [*ann.page.complaints, *ben.page.complaints]

    assert found == f"/rescues/{SOURCE}/{transaction_hash}"
    assert "A different operator approves it" in ordered
    assert "Done." in approved
    assert routes["count"] > 0
    assert routes["broken"] == []
    for words in ("POST /rescues/{network}/{hash}", REASON, "I called the owner"):
        assert words in log, words
    assert "Sent by the owner of the Treasury" in page
    assert "ann, approved by ben" in page
    assert not walks[0].faults + walks[1].faults, [one.report for one in walks]
    assert complaints == []


async def test_rescue_order_is_refused_after_another_order_of_the_same_transfer(
    place: Place, services: Services
) -> None:
    transaction_hash = await place.transfers(TREASURY)
    page = f"/rescues/{SOURCE}/{transaction_hash}"
    async with opened_console(services) as console:
        ann, ben = await console.sign_in_as("ann"), await console.sign_in_as("ben")
        fields = {"transfer": f"{STRANGE} {OWNER}", "to_address": OWNER}
        late = await ann.review(f"{page}/order", fields, page=page)
        first = await ben.review(f"{page}/order", fields, page=page)
        proposal = PROPOSAL.search(await ben.confirm(first))
        assert proposal is not None
        approve = await ann.review(f"{proposal[1]}/approve", {}, page=proposal[1])
        assert "Done." in await ann.confirm(approve)

        refused = await ann.confirm(late)

        assert "order it again" in refused


async def test_search_for_an_unknown_or_invalid_transaction_is_refused(
    place: Place, services: Services
) -> None:
    async with opened_console(services) as console:
        vic = await console.sign_in_as("vic")
        unknown = await vic.get(f"/rescues/{SOURCE}/0x{1:064x}")
        wrong = await vic.get("/rescues/find", params={"network": SOURCE, "hash": "0x1"})
        missing = await vic.get(f"/rescues/{SOURCE}/0x1")

        assert (unknown.status_code, "is in no block" in unknown.text) == (409, True)
        assert (wrong.status_code, missing.status_code) == (422, 404)


@pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER)
@pytest.mark.skipif(not AXE.exists(), reason=NO_AXE)
async def test_rescue_screens_pass_the_screen_checks(
    place: Place, services: Services, tmp_path: Path
) -> None:
    assert BROWSER is not None
    returned, open_one = [await place.transfers(TREASURY) for _ in range(2)]
    body = {"to_address": OWNER, "reason": REASON}
    call = partial(asyncio.to_thread, services.call)  # this loop serves what it asks
    stored = await call("ann", f"/rescues/{SOURCE}/{returned}", body)
    await call("ben", f"/approvals/{stored['proposal']['id']}/approve", {"reason": "called"})
    proposal_id = (await call("ann", f"/rescues/{SOURCE}/{open_one}", body))["proposal"]["id"]
    ids = {
        **{"network": SOURCE, "open": open_one, "returned": returned},
        **{"service": "settler", "proposal": proposal_id},
    }
    async with (
        served(services) as (url, cookies),
        open_page(BROWSER, tmp_path, "about:blank") as page,
    ):
        walk = Walk(page, url, visitors=cookies, ids={"": ids}, may_cut_tables=True)
        await walk.over(RESCUES)
        if GUIDE:
            await look(page, "light", WIDE)
            await show(page, f"{url}/rescues")
            await save_picture(page, "rescues")

    assert not walk.faults, walk.report


async def test_pending_rescue_is_listed_behind_many_other_proposals(
    place: Place, services: Services
) -> None:
    await services.scalar(OTHERS)
    page = f"/rescues/{SOURCE}/{await place.transfers(TREASURY)}"
    async with opened_console(services) as console:
        ann = await console.sign_in_as("ann")
        fields = {"transfer": f"{STRANGE} {OWNER}", "to_address": OWNER}
        ordered = await ann.confirm(await ann.review(f"{page}/order", fields, page=page))
        proposal = PROPOSAL.search(ordered)

        assert proposal is not None
        assert proposal[1] in (await ann.get("/rescues")).text
