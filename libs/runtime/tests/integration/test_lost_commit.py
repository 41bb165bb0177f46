"""The connection is lost after COMMIT was sent: Postgres committed, the client has no answer."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr

from libs.runtime.tests.fakes import (
    NOTES,
    FakeParking,
    KeepNotes,
    a_record,
)
from swap_runtime.errors import Unavailable
from swap_runtime.messaging.batches import Batches
from swap_runtime.postgres.database import (
    Engine,
    create_engine,
    execute_alone,
    reading,
    transaction,
)
from swap_runtime.postgres.leases import Lease
from swap_runtime.postgres.sql import sql
from tests.plugins.cutting_proxy import CuttingProxy, cutting_proxy

pytestmark = [pytest.mark.connected, pytest.mark.fault("P1")]
ADD = sql("INSERT INTO note (thing, version) VALUES ('a', 1)")
COUNT = sql("SELECT count(*) FROM note")
INSERTED = b"INSERT 0 1\x00"


@pytest.fixture
async def proxied(url: str) -> AsyncIterator[tuple[CuttingProxy, Engine]]:
    async with cutting_proxy(url) as (proxy, through):
        engine = create_engine(SecretStr(through), application_name="test")
        yield proxy, engine
        await engine.dispose()


async def count(engine: Engine) -> int:
    async with reading(engine) as connection:
        return int(await connection.scalar(COUNT))


async def test_p1_a_transaction_is_unknown_and_was_committed(
    proxied: tuple[CuttingProxy, Engine],
) -> None:
    proxy, engine = proxied

    async def add() -> None:
        async with transaction(engine) as connection:
            connection.post(ADD)

    proxy.lose()
    with pytest.raises(Unavailable):
        await add()

    assert (proxy.cuts, await count(engine)) == (1, 1)


async def test_p1_a_statement_alone_is_unknown_and_was_committed(
    proxied: tuple[CuttingProxy, Engine],
) -> None:
    proxy, engine = proxied

    proxy.lose(INSERTED)
    with pytest.raises(Unavailable):
        await execute_alone(engine, ADD)

    assert (proxy.cuts, await count(engine)) == (1, 1)


async def test_p1_a_batch_is_delivered_again_and_acts_once(
    proxied: tuple[CuttingProxy, Engine],
) -> None:
    proxy, engine = proxied
    notes, parking = KeepNotes(engine), FakeParking()
    batches = Batches(NOTES, notes, parking)
    records = [a_record(version=version) for version in (1, 2)]

    proxy.lose()
    with pytest.raises(Unavailable):
        await batches(records)
    await batches(records)

    assert proxy.cuts == 1
    assert await notes.stored_notes() == [("a", 1), ("a", 2)]
    assert parking.parked == []


async def test_p1_a_lease_is_not_held_before_it_was_asked_again(
    proxied: tuple[CuttingProxy, Engine],
) -> None:
    proxy, engine = proxied
    lease = Lease(engine, "one", holder="this")

    proxy.lose(INSERTED)
    with pytest.raises(Unavailable):
        await lease.acquire()

    assert not lease.is_held
    assert await lease.acquire()
    assert lease.epoch == 1
