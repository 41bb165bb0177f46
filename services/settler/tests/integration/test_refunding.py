"""Refunds on a real Postgres and a chain in memory: each leg is refunded once, despite crashes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from psycopg.errors import UniqueViolation

from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.lane_harness import (
    REQUESTED,
    SOURCE,
    World,
    a_deposit,
    a_funding,
    a_recipient,
    expect_wrong_nonces,
)
from swap_chains.errors import ChainUnavailable
from swap_runtime.postgres.sql import sql
from swap_settler.paying.usecases import send_payouts
from swap_settler.settling.usecases import start_refunds
from tests.support.crashes import ProcessKilled, killed_at

pytestmark = pytest.mark.connected

STATUSES = "SELECT status, fail_reason FROM swap ORDER BY id"


@pytest.fixture
async def world(migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_world(migrate_schema("settler"), SOURCE) as world:
        yield world


def refunding_killed_at(monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    killed_at(monkeypatch, point, send_payouts, start_refunds)
    if point == "settler.after_slot":
        expect_wrong_nonces(monkeypatch)


async def refunded(world: World) -> None:
    await world.starting_refunds()()
    await world.send_everything()


async def the_only_hash(world: World) -> str:
    [attempt] = await world.rows("SELECT transaction_hash FROM attempt")
    return str(attempt.transaction_hash)


class TestACrash:
    @pytest.mark.parametrize(
        "point",
        [
            pytest.param("settler.before_refund", id="S1"),
            pytest.param("settler.after_slot", id="S2"),
            pytest.param("settler.after_sign", id="S3"),
            pytest.param("settler.before_send", id="S4"),
            pytest.param("settler.after_send", id="S5"),
        ],
    )
    @pytest.mark.fault("S1", "S2", "S3", "S4", "S5")
    async def test_ends_in_one_refund_on_one_slot(
        self, world: World, monkeypatch: pytest.MonkeyPatch, point: str
    ) -> None:
        await world.due_refunds(3)
        refunding_killed_at(monkeypatch, point)
        with pytest.raises(ProcessKilled):
            await refunded(world)

        await refunded(world)
        await world.rebroadcast()
        world.chain.mine()

        intents = await world.rows("SELECT kind, base_units, charged_base_units FROM intent")
        assert [i.kind for i in intents] == ["refund"] * 3
        assert {int(i.charged_base_units) for i in intents} == {REQUESTED}
        for number in (1, 2, 3):
            assert 0 < world.paid_amount(number) < REQUESTED
            assert world.paid_amount(number) == int(intents[0].base_units)
        [slots] = await world.rows("SELECT count(*) FROM nonce_slot")
        assert slots.count == 1


class TestARefund:
    @pytest.mark.fault("M14")
    async def test_m14_does_not_depend_on_the_app_of_its_swap(self, world: World) -> None:
        """Apps and keys are tables of the api, which the settler may not read."""
        may_read = "SELECT has_table_privilege('api.app', 'SELECT') AS any_of_it"
        assert [row.any_of_it for row in await world.rows(may_read)] == [False]
        await world.due_refunds(1)
        await world.request_swap(2)
        await world.settle(a_deposit(2))
        states = {row.status for row in await world.rows(STATUSES)}
        assert states == {"pending_refund", "failed"}

        await world.refund_address(2, a_recipient(2))
        await refunded(world)
        world.chain.mine()

        assert world.paid_amount(1) == world.paid_amount(2) > 0

    async def test_ends_its_swap_once_it_is_final(self, world: World) -> None:
        await world.due_refunds(1)
        assert await world.rows(STATUSES) == [("pending_refund", "insufficient_liquidity")]
        await refunded(world)
        world.chain.mine()

        await world.payout("seen", version=1, transaction_hash=await the_only_hash(world))
        assert await world.rows(STATUSES) == [("pending_refund", "insufficient_liquidity")]
        await world.payout("confirmed", version=2, transaction_hash=await the_only_hash(world))

        assert await world.rows(STATUSES) == [("refunded", "insufficient_liquidity")]
        owed = "SELECT kind FROM account WHERE swap_id IS NOT NULL AND balance <> 0"
        assert await world.rows(owed) == []

    async def test_waits_for_a_node_that_reports_the_fee(self, world: World) -> None:
        await world.due_refunds(1)
        world.chain.is_reachable = False

        assert await world.starting_refunds()() is False
        assert await world.rows("SELECT id FROM intent") == []

        world.chain.is_reachable = True
        await refunded(world)
        assert await world.intent_states() == ["broadcast"]

    @pytest.mark.fault("S9")
    async def test_s9_is_worked_out_once_by_many(self, world: World) -> None:
        await world.due_refunds(20)

        await asyncio.gather(*(world.starting_refunds()() for _ in range(4)))

        assert await world.intent_states() == ["reserved"] * 20
        assert await world.rows("SELECT id FROM refund_due") == []

    @pytest.mark.fault("S22")
    async def test_s22_that_its_recipient_refuses_is_claimable(self, world: World) -> None:
        await world.due_refunds(1)
        world.chain.refuse(a_recipient(1))
        await world.starting_refunds()()

        for _ in range(2):
            await world.send_everything()

        assert await world.rows(STATUSES) == [("failed", "insufficient_liquidity")]
        [claim] = await world.rows("SELECT -balance AS units FROM account WHERE kind = 'claimable'")
        assert int(claim.units) == REQUESTED

    @pytest.mark.fault("S23")
    async def test_s23_that_reverts_is_tried_again_once_that_is_final(self, world: World) -> None:
        await world.due_refunds(1)
        await refunded(world)
        world.chain.refuse(a_recipient(1))
        world.chain.mine()
        await world.close_slots()
        assert await world.intent_states() == ["broadcast"]

        world.chain.mine(2)
        await world.close_slots()
        assert await world.intent_states() == ["reserved"]

        world.chain.refuse(a_recipient(1), refuses=False)
        await world.send_everything()
        world.chain.mine()

        assert 0 < world.paid_amount(1) < REQUESTED
        assert [r.nonce for r in await world.rows("SELECT nonce FROM nonce_slot ORDER BY 1")] == [
            0,
            1,
        ]

    @pytest.mark.fault("S27", "M7")
    async def test_s27_that_costs_what_it_returns_once_gas_is_dear_is_claimable(
        self, world: World
    ) -> None:
        await world.due_refunds(1)
        world.chain.base_fee *= 10**6
        network = world.catalogue.network(SOURCE)
        await world.settle(
            a_deposit(1, deposit_id=a_funding(9).body.deposit_id, base_units=str(10**9))
        )

        await refunded(world)

        high = network.gas.pay_native * network.max_fee_per_gas
        [intent] = await world.rows("SELECT base_units, deposit_id FROM intent")
        assert (int(intent.base_units), intent.deposit_id) == (REQUESTED - high, None)
        [claim] = await world.rows("SELECT -balance AS units FROM account WHERE kind = 'claimable'")
        assert int(claim.units) == 10**9

    async def test_is_refused_beside_a_payout_by_the_database(self, world: World) -> None:
        await world.due_refunds(1)
        await world.starting_refunds()()
        copy = (
            "INSERT INTO intent (id, paid_id, swap_id, kind, network, token, to_address,"
            " base_units, state, due_at, created_at) SELECT gen_random_uuid(), 1, swap_id,"
            " 'output', network, token, to_address, base_units, 'reserved', due_at, created_at"
            " FROM intent"
        )

        with pytest.raises(UniqueViolation, match="payout_or_refund"):
            async with world.engine.begin() as connection:
                await connection.execute(sql(copy))

    async def test_of_a_late_deposit_goes_back_on_its_own_leg(self, world: World) -> None:
        await world.due_refunds(1)
        await world.settle(a_deposit(1, deposit_id=a_funding(9).body.deposit_id))

        await refunded(world)
        world.chain.mine()

        legs = await world.rows("SELECT deposit_id, to_address FROM intent ORDER BY deposit_id")
        assert [leg.deposit_id is None for leg in legs] == [False, True]
        assert {leg.to_address for leg in legs} == {a_recipient(1)}
        assert world.paid_amount(1) > REQUESTED


class DataFeeOf:
    """A rollup's fee for bytes."""

    def __init__(self, fee: int | None) -> None:
        self.fee = fee

    async def upper_bound(self) -> int:
        if self.fee is None:
            raise ChainUnavailable(SOURCE)
        return self.fee


class TestARollup:
    @pytest.mark.fault("S26")
    async def test_s26_takes_its_fee_for_bytes_off_the_refund(self, world: World) -> None:
        await world.due_refunds(2)
        first = world.starting_refunds(DataFeeOf(10**15))
        first._limit = 1
        await first()
        await world.starting_refunds(DataFeeOf(0))()

        high, low = await world.rows("SELECT base_units FROM intent ORDER BY base_units")

        assert int(low.base_units) - int(high.base_units) == 10**15

    @pytest.mark.fault("S26")
    async def test_s26_lets_refunds_wait_while_no_node_reports_its_fee(self, world: World) -> None:
        await world.due_refunds(1)

        assert not await world.starting_refunds(DataFeeOf(None))()

        assert await world.rows("SELECT 1 FROM intent") == []
        assert len(await world.rows("SELECT 1 FROM refund_due")) == 1
