"""Signers: a halted one is resumed by two operators, each in a browser; open nonces are listed."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from services.settler.tests.admin_port import weighing
from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.lane_harness import DESTINATION, PAYOUT, SIGNER, World
from swap_runtime.operators.admin_routes import AdminRoute, OrderRoute
from swap_settler.operator.http.second_operator import SecondOperator
from swap_settler.operator.http.signers import SignerAdmin
from swap_settler.operator.store.signers import PostgresSigners
from swap_settler.operator.usecases.list_signers import ListSigners
from tests.console.operator_services import ADDRESS, Console, Services, only_settler
from tests.console.operators import two_browsers
from tests.console.test_console_screens import BROWSER, NO_AXE, NO_BROWSER, served
from tests.plugins.postgres import Database
from tests.support.screens import AXE

pytestmark = [
    pytest.mark.connected,
    pytest.mark.timeout(200),
    pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER),
    pytest.mark.skipif(not AXE.exists(), reason=NO_AXE),
]
HALT: Final = "a payment was mined that the ledger does not know"
CHECKED: Final = "I read its transactions"
REASON: Final = "it was made by hand, and is booked now"


@pytest.fixture
async def world(migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_world(migrate_schema("settler"), DESTINATION) as made:
        yield made


@pytest.fixture
async def services(world: World, database: Database) -> AsyncIterator[Services]:
    """The settler's internal port with its signers, where every amount needs two operators."""
    signers = PostgresSigners(world.engine)
    second = SecondOperator(weighing(world.engine, world.catalogue, above=0))
    admin = SignerAdmin(
        list_signers=ListSigners(signers),
        resume_signers=world.resuming(),
        clock=lambda: datetime.now(UTC),
    )
    resume = OrderRoute(
        "/signers/{network}/resume", admin.resume, second.resumes_signers, admin.add_halts
    )
    reads = [
        AdminRoute("GET", "/signers", admin.list_all),
        AdminRoute("GET", "/signers/{network}/{address}/nonces", admin.open_nonces),
    ]
    async with only_settler(world.engine, database, reads=reads, orders=[resume]) as made:
        yield made


async def pay(world: World) -> None:
    await world.send_everything()
    world.chain.mine()


async def test_two_operators_resume_a_halted_signer_and_its_lane_pays_again(
    world: World, services: Services, tmp_path: Path
) -> None:
    assert BROWSER is not None
    await world.confirmed_swaps(1)
    await world.store.halt(HALT)
    await pay(world)
    assert await world.intent_states() == ["reserved"]
    page = f"/signers/{DESTINATION}/{SIGNER}"

    async with (
        served(services) as (url, cookies),
        two_browsers(BROWSER, tmp_path, url, cookies) as (ann, ben),
    ):
        await ann.follow("/signers", page)
        assert HALT in await ann.text()
        ordered = await ann.order(page, "/resume", {"reason": REASON}, shows=HALT)
        assert "A different operator approves it" in ordered
        proposal = await ann.proposal()
        await ben.follow("/approvals", proposal)
        assert "halted" in await ann.read(page)
        approved = await ben.order(proposal, "/approve", {"reason": CHECKED})
        assert "Done." in approved
        resumed, log = await ann.read(page), await ben.read("/log")
        complaints = [*ann.page.complaints, *ben.page.complaints]
    await world.finish_recovery()
    await pay(world)

    for words in ("it signs and sends what is due", "ann, approved by ben", REASON):
        assert words in resumed, words
    for words in ("POST /signers/{network}/resume", CHECKED):
        assert words in log, words
    assert complaints == []
    assert world.paid_amount(1) == PAYOUT


async def test_open_nonces_of_a_signer_link_to_the_swaps_that_they_pay(
    world: World, services: Services
) -> None:
    await world.confirmed_swaps(2)
    await world.send_everything()
    console = Console(services, public_url=ADDRESS)
    browser = await console.sign_in_as("vic")
    [path] = re.findall(r'href="(/signers/[^"]+)#part-2"', (await browser.get("/signers")).text)

    nonces = (await browser.get(path)).text.partition("Open nonces</h2>")[2]

    assert len(set(re.findall(r'href="(/swaps/[0-9a-f-]{36})"', nonces))) == 2
    await console.http.close()
