"""Workers that the settler's commits wake; no write notifies without a commit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID

import psycopg
import pytest

from services.settler.tests.factories import (
    LATER,
    POLYGON,
    a_deposit_message,
    a_request,
    funding,
)
from services.settler.tests.settler_harness import Settler
from swap_runtime.messaging.outbox import OUTBOX
from swap_runtime.postgres.database import Engine
from swap_settler.model.store.channels import REQUOTE_DUE, lane_channel
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from swap_settler.operator.decide.stakes import CapLimit, CapName
from swap_settler.operator.store.caps import PostgresCaps
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected
TRIGGERS_THAT_NOTIFY = """
SELECT tgrelid::regclass::text FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid
WHERE prosrc ILIKE '%notify%'
"""


@pytest.fixture
async def woken(engine: Engine) -> AsyncIterator[list[str]]:
    """Collects the channels that commits notify."""
    woken: list[str] = []
    engine.wake_listener = woken.extend
    yield woken
    engine.wake_listener = lambda _: None


@pytest.fixture
async def run(engine: Engine) -> Settler:
    """A settler with inventory, and a swap that waits for its deposit."""
    run = Settler(PostgresUnitOfWork(engine, consumer="settler"))
    await run.deposits(funding())
    await run.requests(a_request())
    return run


async def test_no_trigger_of_any_service_notifies(database: Database) -> None:
    """Postgres lets only one transaction that notifies commit at a time."""
    with psycopg.connect(database.superuser_url) as connection:
        assert connection.execute(TRIGGERS_THAT_NOTIFY).fetchall() == []


async def test_a_payout_wakes_its_network_s_lanes_and_the_relay(
    run: Settler, woken: list[str]
) -> None:
    await run.deposits(a_deposit_message())

    assert set(woken) == {lane_channel(POLYGON), OUTBOX}


async def test_a_late_deposit_wakes_the_requote_worker(run: Settler, woken: list[str]) -> None:
    run.now = LATER

    await run.deposits(a_deposit_message(block_time=LATER))

    assert set(woken) == {REQUOTE_DUE, OUTBOX}


async def test_a_changed_cap_wakes_the_lanes_before_which_payments_wait(
    engine: Engine, woken: list[str]
) -> None:
    caps = PostgresCaps(engine, networks=[POLYGON])
    word = {"by": "ann", "reason": "as agreed"}

    limit = CapLimit(1, timedelta(days=1))
    await caps.set_cap(CapName(POLYGON), limit=limit, may_raise=True, set_at=None, **word)
    await caps.lift_cap(CapName(POLYGON), set_at=None, **word)

    assert woken == [lane_channel(POLYGON)] * 2


async def test_a_payment_that_waits_for_no_cap_cannot_be_passed(
    engine: Engine, woken: list[str]
) -> None:
    word = {"by": "ann", "reason": "as agreed"}

    assert not await PostgresCaps(engine, networks=[POLYGON]).grant_pass(UUID(int=1), **word)

    assert woken == []
