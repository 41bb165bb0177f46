"""A database without its latest payments is detected, and older payments are held meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.integration.reconciling import explaining, record_external_payment
from services.settler.tests.integration.test_caps import DAY, OF_TOKEN, keeping
from services.settler.tests.integration.test_caps_spent import spent_payments
from services.settler.tests.integration.test_lane import sending_killed_at
from services.settler.tests.lane_harness import (
    DESTINATION,
    NOW,
    PAYOUT,
    SIGNER,
    SOURCE,
    TREASURY,
    World,
    a_deposit,
    a_funding,
    a_recipient,
    a_request,
)
from services.settler.tests.recovery_harness import (
    change_newest,
    fence,
    finishing,
    restore_database,
    watching,
)
from swap_chains.evm.codec import Payment, depository_id, encode_pay_batch, intent_id
from swap_chains.ports import Call, Fees
from swap_contracts.payouts import PayoutChanged
from swap_contracts.topics import PAYOUT_CHANGED
from swap_domain.catalogue import NATIVE
from swap_runtime.errors import RequestRefused
from swap_runtime.postgres.sql import sql
from swap_settler.model.messages.message_mapping import MessageMapper
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from swap_settler.operator.decide.stakes import CapLimit
from swap_settler.records import ListPlace, Record
from swap_settler.settling.store.dwelling import PostgresDwelling
from swap_settler.settling.usecases.settle_payouts import SettlePayouts
from tests.support.crashes import ProcessKilled

pytestmark = pytest.mark.connected
OPERATOR_ORDER = {"by": "ann", "reason": "the database was restored"}


@pytest.fixture
async def source(migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_world(migrate_schema("settler"), SOURCE) as world:
        yield world


@pytest.fixture
async def world(migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_world(migrate_schema("settler"), DESTINATION) as world:
        world.chain.give(SIGNER, NATIVE, 10**18)
        # Each test begins with a database that is known, also the first one: it is a copy, as if
        # it was restored.
        await watching(world)()
        yield world
        async with world.engine.begin() as connection:
            await connection.execute(sql("TRUNCATE recovery CASCADE"))


def place_of_row(record: Record) -> ListPlace:
    return datetime.fromisoformat(str(record["after_at"])), UUID(str(record["after_id"]))


async def causes(world: World) -> list[str]:
    rows = await world.rows("SELECT cause FROM recovery WHERE ended_at IS NULL")
    return [row.cause for row in rows]


RESTARTED = "booted_at = booted_at - interval '1 hour'"


async def with_money_for_one(world: World, number: int) -> None:
    """Request a swap without a deposit, and add the inventory of one payout."""
    funding = a_funding(1).body.model_copy(update={"base_units": str(PAYOUT)})
    await world.settle(a_funding(1).model_copy(update={"body": funding}))
    await world.requesting()([a_request(number, refund_address=a_recipient(number))])


# The output is owed once more than the inventory holds, until it is reconciled.
@pytest.mark.breaks_invariants("I-27")
@pytest.mark.fault("P6")
async def test_p6_a_lost_output_is_not_refunded_too(source: World) -> None:
    """The backup has the inventory of one payout, and a swap without its deposit."""
    await with_money_for_one(source, 1)
    body = PayoutChanged(
        intent_id=str(intent_id(a_request(1).body.swap_id, "output", "main")),
        version=2,
        state="confirmed",
        network=DESTINATION,
        transaction_hash="0x" + "99" * 32,
        block_number=1,
        block_hash=depository_id(1),
        block_time=NOW,
        token=NATIVE,
        to_address=a_recipient(1),
        base_units=str(PAYOUT),
    )
    settle = SettlePayouts(
        PostgresUnitOfWork(source.engine, consumer="settler"),
        clock=source.clock,
        mapper=MessageMapper(source.catalogue),
        swap_messages=source.swap_messages,
    )
    await settle([PAYOUT_CHANGED.seal(body, version=2, occurred_at=NOW, trace_id="t")])
    await source.settle(a_deposit(1))

    await source.starting_refunds()()
    await source.send_everything()
    source.chain.mine()

    assert await causes(source) == ["evidence"]
    assert source.paid_amount(1) == 0
    [swap] = await source.rows("SELECT status FROM swap")
    assert swap.status == "ls_transfer_pending"
    assert await source.intent_states() == ["reserved"]

    await source.finish_recovery()
    await source.send_everything()
    source.chain.mine()

    assert await source.intent_states() == ["reserved"]
    [retained] = await finishing(source).list_retained()
    assert (retained.swap_id, retained.kind) == (a_request(1).body.swap_id, "output")


@pytest.mark.fault("P6")
async def test_p6_a_lost_output_is_explained_and_made_once(world: World) -> None:
    """Actions of an operator: docs/recovery.md."""
    await world.close_slots()  # the ledger has its gas money
    await with_money_for_one(world, 1)
    paid_id = intent_id(a_request(1).body.swap_id, "output", "main")
    payment = Payment(paid_id, NATIVE, a_recipient(1), PAYOUT)
    call = Call(TREASURY, 0, encode_pay_batch([payment]), 10**6)
    forgotten = await world.sender.sign(call, nonce=0, fees=Fees(10**13, 10**13))
    await world.sender.broadcast([forgotten])
    world.chain.mine(4)
    made = forgotten.transaction_hash
    await record_external_payment(world, made, a_recipient(1), paid_id=paid_id)
    await world.settle(a_deposit(1))
    finish, now = finishing(world), datetime.now(UTC)
    [shown] = await finish.list_forgotten(now)
    assert (shown.kind, shown.payment.transaction_hash) == ("output", made)

    [ended] = await explaining(world)(DESTINATION, made, **OPERATOR_ORDER)
    await world.resuming()(DESTINATION, used_by=[made], **OPERATOR_ORDER)
    assert await finish.list_forgotten(now) == []
    await world.finish_recovery()
    await world.send_everything()
    world.chain.mine(4)

    assert ended.end == "made"
    assert await world.intent_states() == ["confirmed"]
    [swap] = await world.rows("SELECT status FROM swap")
    assert swap.status == "completed"
    assert world.paid_amount(1) == PAYOUT


class TestEnteringRecovery:
    async def test_a_start_with_the_same_database_begins_none(self, world: World) -> None:
        await world.confirmed_swaps(1)

        await watching(world)()
        await world.send_everything()
        world.chain.mine()

        assert await causes(world) == []
        assert world.paid_amount(1) == PAYOUT

    @pytest.mark.parametrize(
        "changed", ["system_identifier = 1", "timeline = 99", "database_id = 1", "table_id = 1"]
    )
    @pytest.mark.fault("P5", "P6")
    async def test_p6_another_copy_begins_one(self, world: World, changed: str) -> None:
        await world.confirmed_swaps(1)
        await change_newest(world, f"{changed}, {RESTARTED}")

        await world.send_everything()
        assert await world.intent_states() == ["reserved"]
        await watching(world)()
        await world.send_everything()

        assert await causes(world) == ["restored"]
        assert await world.intent_states() == ["reserved"]

    async def test_newer_swaps_are_paid(self, world: World) -> None:
        await world.confirmed_swaps(2)
        await change_newest(world, f"timeline = 99, {RESTARTED}")
        await watching(world)()
        await world.rows(
            "UPDATE swap SET created_at = now() + interval '1 second' "
            "WHERE sequence_number = 2 RETURNING 1"
        )

        await fence(world)
        await world.send_everything()
        world.chain.mine()

        assert (world.paid_amount(1), world.paid_amount(2)) == (0, PAYOUT)

    @pytest.mark.fault("P5")
    async def test_p5_a_lossless_failover_begins_none(self, world: World) -> None:
        await world.confirmed_swaps(1)
        await change_newest(world, f"timeline = 99, {RESTARTED}")

        await watching(world, is_lossless=True)()
        await world.send_everything()
        world.chain.mine()

        assert await causes(world) == []
        assert world.paid_amount(1) == PAYOUT

    async def test_a_restart_holds_everything_until_it_is_registered(self, world: World) -> None:
        await world.confirmed_swaps(1)
        await change_newest(world, RESTARTED)

        await world.send_everything()
        assert await world.intent_states() == ["reserved"]
        await watching(world)()
        await world.send_everything()

        assert await causes(world) == []
        assert await world.intent_states() == ["broadcast"]

    @pytest.mark.fault("P5", "P6")
    async def test_p6_a_volume_that_was_put_back_is_seen_by_a_nonce(self, world: World) -> None:
        """Nothing of the database's identity has changed: only the chain is ahead."""
        await world.confirmed_swaps(1)
        forgotten = await world.sender.sign(
            Call(SIGNER, 0, b"", 21_000), nonce=0, fees=Fees(10**13, 10**13)
        )
        await world.sender.broadcast([forgotten])
        world.chain.mine()
        await change_newest(world, RESTARTED)
        [before] = await world.rows("SELECT max(id) AS id FROM account")

        await watching(world)()
        await world.send_everything()

        assert await causes(world) == ["evidence"]
        assert await world.intent_states() == ["reserved"]
        [row] = await world.rows("SELECT nextval(pg_get_serial_sequence('account', 'id')) AS id")
        assert row.id > before.id + 1_000_000_000

    async def test_a_network_without_an_answer_is_held_until_it_gives_one(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(1)
        await change_newest(world, f"{RESTARTED}, uncompared = '{{}}'")
        await watching(world)()
        await change_newest(world, f"uncompared = '{{{DESTINATION}}}'")

        await world.send_everything()
        assert await world.intent_states() == ["reserved"]
        await watching(world)()
        await world.send_everything()

        assert await world.intent_states() == ["broadcast"]


class TestHeld:
    @pytest.fixture
    async def held(self, world: World) -> World:
        await world.confirmed_swaps(1)
        await change_newest(world, f"timeline = 99, {RESTARTED}")
        await watching(world)()
        return world

    async def test_ends_by_an_operators_order_with_a_reason(self, held: World) -> None:
        finish = finishing(held)
        found = await finish.find()
        assert found is not None
        assert await finish.count_held() == 1

        await held.finish_recovery()
        await held.send_everything()
        held.chain.mine()

        assert held.paid_amount(1) == PAYOUT
        [stored] = await held.rows("SELECT ended_by, ended_because FROM recovery")
        assert (stored.ended_by, stored.ended_because) == ("ann", "each payment was looked at")
        with pytest.raises(RequestRefused, match="not open"):
            await finish(found.id, by="ann", reason="again")

    async def test_is_listed_with_the_refunds_that_are_due(self, held: World) -> None:
        await held.rows(
            "INSERT INTO refund_due (network, swap_id)"
            " SELECT source_network, id FROM swap RETURNING 1"
        )
        finish = finishing(held)

        [first] = await finish.list_held(limit=1)
        [last] = await finish.list_held(after=place_of_row(first), limit=9)

        assert await finish.count_held() == 2
        assert {one["kind"]: one["base_units"] for one in (first, last)} == {
            "output": str(PAYOUT),
            "refund": None,
        }
        assert (first["swap_id"], first["network"]) == (last["swap_id"], DESTINATION)
        assert await finish.list_held(after=place_of_row(last), limit=9) == []
        await held.finish_recovery()
        assert await finish.list_held(limit=9) == []

    async def test_counts_once_under_a_cap_although_it_leaves_its_slot(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Counted twice, it would not fit under the cap any more, and wait for a day."""
        await keeping(world).set(OF_TOKEN, CapLimit(PAYOUT, DAY), **OPERATOR_ORDER)
        await watching(world)()
        await world.confirmed_swaps(1)
        sending_killed_at(monkeypatch, "settler.after_slot")
        with pytest.raises(ProcessKilled):
            await world.send_everything()
        [counted] = await spent_payments(world)
        assert counted["state"] == "assigned"
        await restore_database(world)
        await fence(world)

        await world.send_everything()

        assert await world.intent_states() == ["reserved"]
        assert await spent_payments(world) == []
        await world.finish_recovery()
        await world.send_everything()
        [counted] = await spent_payments(world)
        assert counted["state"] == "broadcast"

    async def test_is_not_given_up_for_having_waited(self, held: World) -> None:
        dwelling = PostgresDwelling(held.engine, networks=[SOURCE, DESTINATION])
        await held.rows("UPDATE intent SET created_at = now() - interval '3 hours' RETURNING 1")

        assert await dwelling.find_unsent(timedelta(hours=2), limit=10) == {}

    async def test_numbers_from_the_lost_period_are_not_reused(self, held: World) -> None:
        [row] = await held.rows("SELECT nextval(pg_get_serial_sequence('account', 'id')) AS id")

        assert row.id > 1_000_000_000
