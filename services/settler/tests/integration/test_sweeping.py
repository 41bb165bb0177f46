"""Sweeps on a real Postgres and a chain in memory: sent and booked once, despite crashes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import timedelta

import pytest

from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.lane_harness import (
    DESTINATION,
    FUNDER,
    PAYOUT,
    REQUESTED,
    SOURCE,
    SWEEPS_BOOKED_AT_ONCE,
    World,
    a_deposit,
    a_funding,
    a_recipient,
    a_rise,
    a_sweep,
    address_of,
)
from swap_domain.catalogue import NATIVE
from swap_runtime.postgres.database import Engine
from swap_runtime.postgres.sql import sql
from swap_settler.paying.usecases import send_sweeps
from swap_settler.settling.store.due_refunds import PostgresDueRefunds
from swap_settler.sweeping.usecases import book_sweeps, order_sweeps
from tests.support.crashes import ProcessKilled, killed_at

pytestmark = pytest.mark.connected

STATUSES = "SELECT status FROM swap ORDER BY sequence_number"
SWEEPS = "SELECT state, failures FROM intent WHERE kind = 'sweep' ORDER BY created_at, id"
FORGED = "0x00000000000000000000000000000000000F0F0F"
WATCHED = 90  # the last final block with all messages of the watcher published
CUSTODY = "SELECT holder, address, balance FROM account WHERE kind = 'custody' AND balance <> 0"


@pytest.fixture
async def world(migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_world(migrate_schema("settler"), SOURCE) as world:
        await world.settle(a_funding(10**24))
        yield world


async def funded(world: World, *numbers: int) -> None:
    await world.request_with_addresses(*numbers)
    for number in numbers:
        await world.arrives(number)


async def the_only_hash(world: World) -> str:
    [attempt] = await world.rows("SELECT transaction_hash FROM attempt")
    return str(attempt.transaction_hash)


async def custody(world: World) -> dict[tuple[str, str], int]:
    """Return the ledger's balances on the source network."""
    rows = await world.rows(f"{CUSTODY} AND network = '{SOURCE}'")
    return {(row.holder, row.address): int(row.balance) for row in rows}


async def passed(world: World, watcher: Engine) -> int | None:
    """Return the block up to which the ledger is complete, after the chain-watcher has finished."""
    async with watcher.begin() as connection:
        await connection.execute(
            sql("""
INSERT INTO watch_cursor (network, number, hash, parent_hash, time, finalized_number, start_number,
                          checked_number)
VALUES (:network, :number, '0x1', '0x2', now(), :number, 0, 0)
ON CONFLICT DO NOTHING
"""),
            {"network": SOURCE, "number": WATCHED},
        )
    return await world.store.ledger_passed()


async def finalize_sweep(world: World, *numbers: int) -> None:
    """Mine the sweep in flight, and publish to the settler that it is final."""
    sent_hash = await the_only_hash(world)
    world.chain.mine()
    await world.settle(*(a_sweep(n, transaction_hash=sent_hash) for n in numbers))


class TestACrash:
    @pytest.mark.parametrize(
        "point",
        [
            pytest.param("settler.before_order_sweep", id="S1"),
            pytest.param("settler.after_slot_sweep", id="S2"),
            pytest.param("settler.after_sign_sweep", id="S3"),
            pytest.param("settler.before_send_sweep", id="S4"),
            pytest.param("settler.after_send_sweep", id="S5"),
            pytest.param("settler.before_book_sweep", id="booking"),
        ],
    )
    @pytest.mark.fault("S1", "S2", "S3", "S4", "S5")
    async def test_ends_in_one_sweep_on_one_slot_that_is_booked_once(
        self, world: World, monkeypatch: pytest.MonkeyPatch, point: str
    ) -> None:
        await funded(world, 1, 2, 3)

        async def swept() -> None:
            await world.sweep()
            await world.rebroadcast()
            await finalize_sweep(world, 1, 2, 3)
            await world.book_sweeps()

        killed_at(monkeypatch, point, send_sweeps, order_sweeps, book_sweeps)
        with pytest.raises(ProcessKilled):
            await swept()
        await swept()

        assert [world.held_at(n) for n in (1, 2, 3)] == [0, 0, 0]
        [slots] = await world.rows("SELECT count(*) FROM nonce_slot")
        assert slots.count == 1
        booked = await custody(world)
        assert sum(booked.values()) == 3 * REQUESTED
        assert {holder for holder, _ in booked} == {"treasury"}


class TestASweep:
    async def test_is_ordered_when_money_is_credited_and_no_swap_waits_for_it(
        self, world: World
    ) -> None:
        await funded(world, 1)
        assert await world.rows(STATUSES) == [("ls_transfer_pending",)]
        assert await custody(world) == {("deposit_address", address_of(1)): REQUESTED}

        await world.sweep()

        assert await world.rows(SWEEPS) == [("broadcast", 0)]
        [sequence] = await world.rows("SELECT max(sequence) AS n FROM swap_transition")
        assert sequence.n == 2  # requested, credited: a sweep publishes no message

    async def test_is_not_to_be_paid_out_before_it_is_final(self, world: World) -> None:
        await funded(world, 1)
        before = await world.rows(f"SELECT * FROM inventory WHERE network = '{SOURCE}'")
        assert [int(row.held_base_units) for row in before] == [0]

        await world.sweep()
        sent_hash = await the_only_hash(world)
        world.chain.mine()
        await world.settle(a_sweep(1, transaction_hash=sent_hash, state="seen", version=1))
        await world.book_sweeps()
        assert await world.rows(SWEEPS) == [("mined", 0)]
        assert ("deposit_address", address_of(1)) in await custody(world)

        await world.settle(a_sweep(1, transaction_hash=sent_hash))
        await world.book_sweeps()
        after = await world.rows(f"SELECT * FROM inventory WHERE network = '{SOURCE}'")
        assert [int(row.held_base_units) for row in after] == [REQUESTED]

    async def test_is_confirmed_once_the_ledger_has_passed_it(self, world: World) -> None:
        await funded(world, 1)
        await world.sweep()
        await finalize_sweep(world, 1)
        world.chain.mine(5)
        await world.close_slots()
        await world.book_sweeps()
        assert await world.rows(SWEEPS) == [("mined", 0)]

        async with world.engine.begin() as connection:
            await connection.execute(
                sql("INSERT INTO ledger_cursor (network, number) VALUES (:n, 100)"),
                {"n": SOURCE},
            )
        await world.settle(a_rise(1, nth=7, base_units="1"))  # a sweep is due
        await world.book_sweeps()
        assert await world.rows(SWEEPS) == [("confirmed", 0)]

    async def test_takes_many_addresses_with_one_transaction(self, world: World) -> None:
        numbers = range(1, 31)
        await funded(world, *numbers)

        await world.sweep()
        world.chain.mine()

        [attempts] = await world.rows("SELECT count(*) FROM attempt")
        assert attempts.count == 1
        assert sum(world.held_at(n) for n in numbers) == 0

    async def test_of_what_is_not_worth_its_gas_waits(self, world: World) -> None:
        await world.request_with_addresses(1, 2)
        await world.arrives(1, 10**9)
        await world.arrives(2)

        await world.sweep()
        world.chain.mine()

        assert (world.held_at(1), world.held_at(2)) == (10**9, 0)
        [due] = await world.rows("SELECT address, due_at > now() AS waits FROM sweep_due")
        assert (due.address, due.waits) == (address_of(1), True)

    async def test_that_is_worked_out_by_many_is_ordered_once(self, world: World) -> None:
        await funded(world, *range(1, 11))

        await asyncio.gather(*(world.order_sweeps() for _ in range(4)))

        assert await world.rows(SWEEPS) == [("reserved", 0)] * 10

    async def test_of_a_deposit_during_a_sweep_is_a_second_one(self, world: World) -> None:
        await funded(world, 1)
        await world.sweep()
        await world.arrives(1, 2 * REQUESTED, nth=1)
        await world.sweep()
        assert await world.rows(SWEEPS) == [("broadcast", 0)]

        # The first sweeps both amounts, because it empties the address when it is mined.
        sent_hash = await the_only_hash(world)
        world.chain.mine()
        await world.settle(a_sweep(1, 3 * REQUESTED, transaction_hash=sent_hash))
        await world.book_sweeps()

        assert await custody(world) == {("treasury", world_treasury(world)): 3 * REQUESTED}
        await world.sweep()
        [attempts] = await world.rows("SELECT count(*) FROM attempt")
        assert attempts.count == 1

    @pytest.mark.fault("W24")
    async def test_w24_by_another_sender_is_booked_and_not_repeated(self, world: World) -> None:
        await funded(world, 1)
        external = "0x" + "ee" * 32
        await world.settle(a_sweep(1, transaction_hash=external, state="seen", version=1))

        await world.sweep()
        await world.settle(a_sweep(1, transaction_hash=external))
        await world.book_sweeps()

        assert await world.rows(SWEEPS) == []
        assert await custody(world) == {("treasury", world_treasury(world)): REQUESTED}

    @pytest.mark.fault("W24")
    async def test_w24_of_an_empty_address_ends_with_zero(self, world: World) -> None:
        await funded(world, 1)
        await world.order_sweeps()
        world.chain.give(address_of(1), NATIVE, -REQUESTED)  # a third party was first

        await world.sweep()
        world.chain.mine(5)
        await world.close_slots()

        assert await world.rows(SWEEPS) == [("mined", 0)]

    async def test_of_an_address_without_a_swap_is_booked_in_suspense(self, world: World) -> None:
        await world.settle(a_sweep(1, transaction_hash="0x" + "ee" * 32))
        await world.book_sweeps()

        assert await custody(world) == {("treasury", world_treasury(world)): REQUESTED}
        [rows] = await world.rows("SELECT -balance AS units FROM account WHERE kind = 'suspense'")
        assert int(rows.units) == REQUESTED

    async def test_that_is_final_before_its_swap_is_known_is_the_swaps(self, world: World) -> None:
        await world.settle(a_sweep(1, transaction_hash="0x" + "ee" * 32))
        await world.book_sweeps()

        await world.request_with_addresses(1)
        await world.book_sweeps()
        assert await custody(world) == {}
        await world.arrives(1)
        await world.book_sweeps()

        assert await world.rows(STATUSES) == [("ls_transfer_pending",)]
        assert await custody(world) == {("treasury", world_treasury(world)): REQUESTED}
        suspense = "SELECT balance FROM account WHERE kind = 'suspense' AND balance <> 0"
        assert await world.rows(suspense) == []

    async def test_that_is_final_before_its_deposit_is_credited_waits_for_the_credit(
        self, world: World
    ) -> None:
        await world.request_with_addresses(1)
        external = "0x" + "ee" * 32
        await world.settle(a_sweep(1, transaction_hash=external))
        await world.book_sweeps()
        assert await custody(world) == {}

        await world.arrives(1)
        await world.book_sweeps()

        assert await custody(world) == {("treasury", world_treasury(world)): REQUESTED}

    async def test_of_a_token_outside_the_catalogue_is_not_booked(
        self, world: World, watcher: Engine
    ) -> None:
        """Anyone may sweep any token, including one that emits false logs."""
        forged = "0x" + "ee" * 32
        await world.request_with_addresses(1)
        await world.settle(
            a_sweep(1, 2**256 - 1, transaction_hash=forged, token=FORGED),
            a_sweep(2, 2**256 - 1, transaction_hash=forged, token=FORGED),
        )
        await world.book_sweeps()

        assert await world.rows("SELECT id FROM swept") == []
        assert await passed(world, watcher) == WATCHED

    async def test_of_more_than_the_total_supply_is_recorded_and_never_booked(
        self, world: World, watcher: Engine
    ) -> None:
        forged = "0x" + "ee" * 32
        await world.settle(
            *(a_sweep(n, 2**256 - 1, transaction_hash=forged) for n in range(1, 8)),
            a_sweep(9, transaction_hash=forged),
        )
        await world.book_sweeps()

        [rows] = await world.rows("SELECT count(*) FROM swept WHERE is_quarantined")
        assert rows.count == 7
        assert await custody(world) == {("treasury", world_treasury(world)): REQUESTED}
        assert await passed(world, watcher) == WATCHED

    async def test_that_waits_for_its_credit_holds_up_none_behind_it(self, world: World) -> None:
        waiting = range(1, 3 * SWEEPS_BOOKED_AT_ONCE)
        external = "0x" + "ee" * 32
        await world.request_with_addresses(*waiting)
        await world.settle(*(a_sweep(n, transaction_hash=external) for n in waiting))
        await world.request_with_addresses(99)
        await world.arrives(99)
        await world.settle(a_sweep(99, transaction_hash=external, block_number=6))
        await world.settle(
            *(a_sweep(n, transaction_hash=external, block_number=7) for n in range(100, 108))
        )

        await world.book_sweeps()

        assert await custody(world) == {("treasury", world_treasury(world)): 9 * REQUESTED}

    async def test_of_one_network_that_cannot_be_booked_holds_up_no_other(
        self, world: World
    ) -> None:
        """Each is booked in a separate transaction, so one failure does not block the others."""
        external = "0x" + "ee" * 32
        await funded(world, 1)
        await world.settle(a_sweep(1, transaction_hash=external))
        await world.settle(a_sweep(2, transaction_hash=external, network=DESTINATION))

        await world.booking(SOURCE)()

        assert await custody(world) == {("treasury", world_treasury(world)): REQUESTED}
        unbooked = await world.rows("SELECT network FROM swept WHERE NOT is_booked")
        assert unbooked == [(DESTINATION,)]

    async def test_that_a_reorg_takes_is_ordered_again(self, world: World) -> None:
        await funded(world, 1)
        external = "0x" + "ee" * 32
        await world.settle(a_sweep(1, transaction_hash=external, state="seen", version=1))
        await world.sweep()
        assert await world.rows(SWEEPS) == []

        await world.settle(a_sweep(1, transaction_hash=external, state="reverted", version=2))
        await world.sweep()

        assert await world.rows(SWEEPS) == [("broadcast", 0)]

    @pytest.mark.fault("S22")
    async def test_s22_that_is_refused_blocks_no_other_sweep(self, world: World) -> None:
        await funded(world, 1, 2)
        world.chain.refuse(address_of(1))

        await world.sweep()
        world.chain.mine()

        assert (world.held_at(1), world.held_at(2)) == (REQUESTED, 0)
        [sent, refused] = sorted(await world.rows(SWEEPS))
        assert sent == ("broadcast", 0)
        # It is due again after two seconds, which may pass within the rounds above.
        assert refused[0] == "reserved"
        assert refused[1] >= 1

    @pytest.mark.fault("S23")
    async def test_s23_that_reverts_is_tried_again_in_another_slot(self, world: World) -> None:
        await funded(world, 1)
        await world.sweep()
        world.chain.refuse(address_of(1))
        world.chain.mine(8)
        await world.close_slots()
        assert await world.rows(SWEEPS) == [("reserved", 1)]

        world.chain.refuse(address_of(1), refuses=False)
        async with world.engine.begin() as connection:
            await connection.execute(sql("UPDATE intent SET due_at = now()"))
        await world.sweep()
        world.chain.mine()

        assert world.held_at(1) == 0
        [slots] = await world.rows("SELECT count(*) FROM nonce_slot")
        assert slots.count == 2

    @pytest.mark.fault("S13")
    async def test_s13_that_is_stuck_is_offered_more_for_and_sweeps_the_same(
        self, world: World
    ) -> None:
        await funded(world, 1, 2)
        await world.sweep()
        replace = world.replacing()
        await replace(epoch=world.epoch)
        world.chain.base_fee *= 4  # the broadcast one is not mined at that fee
        world.chain.mine(3)

        assert await replace(epoch=world.epoch) == 1
        world.chain.mine()

        assert [world.held_at(n) for n in (1, 2)] == [0, 0]
        assert await world.rows("SELECT DISTINCT nonce FROM attempt") == [(0,)]

    @pytest.mark.fault("S18")
    async def test_s18_that_is_cancelled_is_tried_in_another_slot(self, world: World) -> None:
        await funded(world, 1)
        await world.sweep()
        replace = world.replacing(dwell=timedelta(0))
        await replace(epoch=world.epoch)
        world.chain.base_fee *= 4
        world.chain.mine(3)
        assert await replace(epoch=world.epoch) == 1
        world.chain.mine(8)
        await world.close_slots()

        assert await world.rows(SWEEPS) == [("reserved", 1)]
        assert world.held_at(1) == REQUESTED


class TestDeposits:
    @pytest.mark.fault("W22")
    async def test_w22_of_another_token_stay_in_suspense_at_their_address(
        self, world: World
    ) -> None:
        await world.request_with_addresses(1)
        usdc = next(t for t in world.catalogue.network(SOURCE).tokens if not t.is_native)

        await world.settle(
            a_rise(1, kind="token_transfer", token=usdc.address, transaction_hash="0x" + "aa" * 32)
        )

        assert await world.rows(STATUSES) == [("user_transfer_pending",)]
        [rows] = await world.rows("SELECT -balance AS units FROM account WHERE kind = 'suspense'")
        assert int(rows.units) == REQUESTED
        assert await custody(world) == {("deposit_address", address_of(1)): REQUESTED}
        await world.sweep()
        assert await world.rows(SWEEPS) == []

    async def test_from_a_funder_are_the_swaps(self, world: World) -> None:
        await world.request_with_addresses(1)

        await world.settle(a_rise(1, from_address=FUNDER))

        assert await world.rows(STATUSES) == [("ls_transfer_pending",)]

    @pytest.mark.fault("W23")
    async def test_w23_after_the_end_go_back_on_their_own_leg(self, world: World) -> None:
        await world.request_with_addresses(1, refund=True)
        await world.arrives(1)
        await world.arrives(1, nth=1)
        assert await world.rows(STATUSES) == [("ls_transfer_pending",)]

        await world.sweep()
        sent_hash = await the_only_hash(world)
        world.chain.mine()
        await world.settle(a_sweep(1, 2 * REQUESTED, transaction_hash=sent_hash))
        await world.book_sweeps()
        await world.starting_refunds()()
        await world.send_everything()
        world.chain.mine()

        network = world.catalogue.network(SOURCE)
        cost = (network.gas.pay_native + network.gas.sweep_native) * (await fee(world))
        assert world.paid_amount(1) == REQUESTED - cost

    async def test_that_go_back_wait_for_what_is_not_swept(self, world: World) -> None:
        await world.request_with_addresses(1, 2, refund=True)
        await world.arrives(1)
        await world.arrives(2)
        await world.arrives(2, nth=1)
        await world.starting_refunds()()
        assert await world.rows("SELECT id FROM intent WHERE kind = 'refund'") == []
        [due] = await world.rows("SELECT due_at > now() AS waits FROM refund_due")
        assert due.waits

        await world.settle(
            a_deposit(
                99,
                base_units=str(10**20),
                kind="native_received",
                from_address=FUNDER,
                sequence_number=None,
            )
        )
        async with world.engine.begin() as connection:
            await connection.execute(sql("UPDATE refund_due SET due_at = now()"))
        await world.starting_refunds()()
        assert len(await world.rows("SELECT id FROM intent WHERE kind = 'refund'")) == 1

    async def test_that_go_back_have_waited_since_they_were_due_first(self, world: World) -> None:
        await world.request_with_addresses(1, refund=True)
        await world.arrives(1)
        await world.arrives(1, nth=1)
        earlier = "UPDATE refund_due SET since = since - interval '1 hour', due_at = now()"
        async with world.engine.begin() as connection:
            await connection.execute(sql(earlier))
        await world.starting_refunds()()
        async with world.engine.begin() as connection:
            await connection.execute(sql("UPDATE refund_due SET due_at = now()"))

        [due] = await PostgresDueRefunds(world.engine).due(SOURCE, limit=9)

        assert due.waited >= timedelta(hours=1)

    async def test_are_paid_out_on_the_other_side(self, world: World) -> None:
        await funded(world, 1)

        [intent] = await world.rows("SELECT to_address, base_units FROM intent")
        assert (intent.to_address, int(intent.base_units)) == (a_recipient(1), PAYOUT)


def world_treasury(world: World) -> str:
    return world.catalogue.network(SOURCE).contracts.treasury


async def fee(world: World) -> int:
    return (await world.reader.fees()).max_fee_per_gas
