"""Messages in, snapshots out, on a real PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import pytest
from pydantic import SecretStr

from services.quoter.tests.factories import ETHEREUM, NOW, POLYGON, USDC, a_market
from swap_chains.evm.rpc import open_session
from swap_contracts.envelope import Envelope
from swap_contracts.quoting import AssetRef
from swap_contracts.swaps import InventoryChanged, SwapTiming
from swap_contracts.topics import INVENTORY_CHANGED, SWAP_CHANGED, SWAP_TIMING
from swap_quoter.adapters.chain_gas import ChainGas
from swap_quoter.adapters.known_market import PostgresKnownMarket
from swap_quoter.adapters.unit_of_work import PostgresUnitOfWork
from swap_quoter.usecases.load_market import LoadMarket
from swap_quoter.usecases.record_completions import RecordCompletions
from swap_quoter.usecases.record_inventory import RecordInventory
from swap_runtime.postgres.database import Engine, TransactionOpen, create_engine, transaction
from swap_runtime.postgres.sql import sql
from tests.plugins.postgres import emptying
from tests.support import swaps

pytestmark = pytest.mark.connected

SOURCE = AssetRef(network=ETHEREUM, token=USDC[ETHEREUM], decimals=6)
DESTINATION = AssetRef(network=POLYGON, token=USDC[POLYGON], decimals=6)
ROUTE = (ETHEREUM, USDC[ETHEREUM], POLYGON, USDC[POLYGON])
HUGE = 10**77 + 1


@pytest.fixture
async def engine(migrate_schema: Callable[[str], str]) -> AsyncIterator[Engine]:
    engine = create_engine(SecretStr(migrate_schema("quoter")), application_name="test")
    async with engine.begin() as connection:
        await connection.execute(sql(emptying("inventory, completion, completion_average, inbox")))
    yield engine
    await engine.dispose()


def inventory(version: int, available: int) -> Envelope[InventoryChanged]:
    body = InventoryChanged(
        network=POLYGON,
        token=USDC[POLYGON],
        version=version,
        available_base_units=str(available),
    )
    return INVENTORY_CHANGED.seal(body, version=version, occurred_at=NOW, trace_id="t")


def completed(
    *,
    took: timedelta,
    closed_at: datetime = NOW,
    swap_id: UUID | None = None,
    status: str = "completed",
    previous_status: str = "ls_transfer_pending",
) -> Envelope[SwapTiming]:
    deposit = swaps.a_transaction(SOURCE, closed_at - took, status="completed")
    body = swaps.a_swap(
        SOURCE,
        DESTINATION,
        NOW,
        swap_id=swap_id or uuid4(),
        sequence=4,
        status=status,
        previous_status=previous_status,
        changed_at=closed_at,
        closed_at=closed_at,
        transactions=(deposit,),
    )
    sealed = SWAP_CHANGED.seal(body, version=4, occurred_at=closed_at, trace_id="t")
    return SWAP_TIMING.envelope.model_validate_json(sealed.model_dump_json())


async def market_inventory(engine: Engine) -> int | None:
    available, _ = await PostgresKnownMarket(engine).read()
    return available.get((POLYGON, USDC[POLYGON]))


async def average(engine: Engine) -> int | None:
    _, milliseconds = await PostgresKnownMarket(engine).read()
    return milliseconds.get(ROUTE)


class TestRecordInventory:
    async def test_keeps_every_digit(self, engine: Engine) -> None:
        await RecordInventory(PostgresUnitOfWork(engine, consumer="quoter"))([inventory(1, HUGE)])

        assert await market_inventory(engine) == HUGE

    @pytest.mark.parametrize("batches", [[[2], [1]], [[2, 1]], [[1, 2]], [[1], [2]]])
    async def test_keeps_the_newest_version_in_any_order(
        self, engine: Engine, batches: Sequence[Sequence[int]]
    ) -> None:
        record = RecordInventory(PostgresUnitOfWork(engine, consumer="quoter"))

        for versions in batches:
            await record([inventory(version, version * 100) for version in versions])

        assert await market_inventory(engine) == 200

    async def test_ignores_a_redelivered_message(self, engine: Engine) -> None:
        record = RecordInventory(PostgresUnitOfWork(engine, consumer="quoter"))

        await record([inventory(1, 100)])
        await record([inventory(1, 100), inventory(1, 100)])

        assert await market_inventory(engine) == 100


class TestRecordCompletions:
    async def test_averages_from_the_deposit_s_sight_to_the_end(self, engine: Engine) -> None:
        record = RecordCompletions(PostgresUnitOfWork(engine, consumer="quoter"), window=10)

        await record([completed(took=timedelta(seconds=s)) for s in (2, 4)])
        await record([completed(took=timedelta(seconds=6))])

        assert await average(engine) == 4000

    async def test_drops_entries_outside_the_window(self, engine: Engine) -> None:
        record = RecordCompletions(PostgresUnitOfWork(engine, consumer="quoter"), window=3)
        swaps = [
            completed(took=timedelta(seconds=n), closed_at=NOW + timedelta(minutes=n))
            for n in range(1, 7)
        ]

        await record(swaps[:2])
        await record(swaps[2:])

        async with engine.connect() as connection:
            row_count = await connection.scalar(sql("SELECT count(*) FROM completion"))
        assert await average(engine) == 5000
        assert row_count == 3

    async def test_counts_a_swap_once_and_only_its_completion(self, engine: Engine) -> None:
        record = RecordCompletions(PostgresUnitOfWork(engine, consumer="quoter"), window=10)
        once = completed(took=timedelta(seconds=1))

        await record(
            [
                once,
                completed(took=timedelta(seconds=9), previous_status="completed"),
                completed(took=timedelta(seconds=9), status="refunded"),
            ]
        )
        await record([once])

        assert await average(engine) == 1000


class TestLoadMarket:
    async def test_takes_over_what_any_replica_received(self, engine: Engine) -> None:
        work = PostgresUnitOfWork(engine, consumer="quoter")
        await RecordInventory(work)([inventory(1, 500)])
        await RecordCompletions(work, window=10)([completed(took=timedelta(seconds=3))])
        market = a_market(inventory={})

        load = LoadMarket(PostgresKnownMarket(engine), market)
        await load()

        assert load.is_loaded
        assert market.inventory == {(POLYGON, USDC[POLYGON]): 500}
        assert market.completion_milliseconds == {ROUTE: 3000}


class TestCost:
    async def test_a_batch_waits_twice_and_what_it_taught_is_read_at_once(
        self, engine: Engine, round_trips: list[int]
    ) -> None:
        work = PostgresUnitOfWork(engine, consumer="quoter")

        await RecordInventory(work)([inventory(1, 500)])
        recorded = len(round_trips)
        await RecordCompletions(work, window=10)([completed(took=timedelta(seconds=3))])
        averaged = len(round_trips)
        await LoadMarket(PostgresKnownMarket(engine), a_market())()

        assert (recorded, averaged, len(round_trips)) == (2, 4, 5)


@pytest.mark.fault("P10")
async def test_node_request_inside_a_transaction_is_refused(engine: Engine) -> None:
    async with open_session() as session:
        gas = ChainGas.of_nodes(ETHEREUM, ["http://127.0.0.1:1"], session, chain_id=31337)
        async with transaction(engine):
            with pytest.raises(TransactionOpen, match="rpc"):
                await gas.find_max_fee_per_gas()
