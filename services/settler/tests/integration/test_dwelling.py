"""Time limits: a payment that waits too long is ended, and a swap without a way out is counted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from pydantic import SecretStr

from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.lane_harness import DESTINATION, PAYOUT, SOURCE, World, a_request
from swap_domain.lifecycle import Status
from swap_runtime.clock import utc_now
from swap_runtime.postgres.database import create_engine
from swap_runtime.postgres.sql import sql
from swap_settler.operator.usecases.list_stuck import ListStuck
from swap_settler.paying.usecases import send_payouts
from swap_settler.paying.usecases.abandon_waiting_payouts import AbandonWaitingPayouts
from swap_settler.settling.decide.dwelling import Dwell
from swap_settler.settling.store.dwelling import PostgresDwelling
from tests.support.crashes import ProcessKilled, killed_at

pytestmark = pytest.mark.connected

HOUR = timedelta(hours=1)
DWELL = Dwell(payment=HOUR, requote=timedelta(minutes=10))
STATUSES = "SELECT status, fail_reason FROM swap ORDER BY id"
# The tests' clock is far behind the database's, so every row would be months old.
RECENTLY = "UPDATE intent SET created_at = now()"


@pytest.fixture
async def refunding(migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    """Return the world of the lane that refunds."""
    async with opened_world(migrate_schema("settler"), SOURCE) as world:
        yield world


def dwelling(world: World) -> PostgresDwelling:
    return PostgresDwelling(world.engine, networks=[SOURCE, DESTINATION])


def abandoning(world: World) -> AbandonWaitingPayouts:
    return AbandonWaitingPayouts(
        world._settling,
        dwelling=dwelling(world),
        clock=world.clock,
        swap_messages=world.swap_messages,
        dwell=DWELL.payment,
    )


async def abandon_waiting_payouts(world: World) -> bool:
    rounds = abandoning(world)
    await rounds()  # the lanes run first
    return await rounds()


async def stuck(world: World) -> list[tuple[UUID, Status]]:
    found = await ListStuck(dwelling(world), DWELL, clock=utc_now)()
    return [(one.swap_id, one.status) for one in found]


async def stuck_by_page(world: World, *, limit: int) -> list[list[UUID]]:
    list_stuck, after = ListStuck(dwelling(world), DWELL, clock=utc_now), None
    pages = []
    while found := await list_stuck.read_page(after=after, limit=limit):
        pages.append([one.swap_id for one in found])
        after = (found[-1].since, found[-1].swap_id)
    return pages


async def change(world: World, statement: str) -> None:
    async with world.engine.begin() as connection:
        await connection.execute(sql(statement))


async def stopped(world: World, network: str, *, minutes: int) -> None:
    await change(
        world,
        "INSERT INTO payout_stop (network, stopped_at, stopped_by, stopped_because)"
        f" VALUES ('{network}', now() - interval '{minutes} minutes', 'me', 'a look')",
    )


class TestAPaymentThatWaits:
    async def test_for_too_long_goes_back(self, world: World) -> None:
        await world.confirmed_swaps(1)

        await abandon_waiting_payouts(world)

        # Without a refund address it is claimable.
        assert await world.rows(STATUSES) == [("failed", "destination_unavailable")]
        assert await world.intent_states() == ["dead"]
        [proof] = await world.rows("SELECT dead_proof ->> 'because' AS because FROM intent")
        assert proof.because == "nothing could be signed for it in time"

    async def test_not_so_long_goes_on_waiting(self, world: World) -> None:
        await world.confirmed_swaps(1)
        await change(world, RECENTLY)

        await abandon_waiting_payouts(world)

        assert await world.rows(STATUSES) == [("ls_transfer_pending", None)]

    async def test_while_signing_is_stopped_does_not_age(self, world: World) -> None:
        await world.confirmed_swaps(1)
        await change(world, "UPDATE intent SET created_at = now() - interval '3 hours'")
        await stopped(world, DESTINATION, minutes=150)

        await abandon_waiting_payouts(world)
        assert await world.rows(STATUSES) == [("ls_transfer_pending", None)]

        # Overlapping stops count once.
        await change(world, "UPDATE payout_stop SET stopped_at = now() - interval '70 minutes'")
        await stopped(world, "*", minutes=70)
        await abandon_waiting_payouts(world)
        assert await world.rows(STATUSES) == [("failed", "destination_unavailable")]
        await change(world, "DELETE FROM payout_stop")

    async def test_is_not_given_up_before_the_lanes_have_looked(self, world: World) -> None:
        await world.confirmed_swaps(1)

        assert await abandoning(world)() is False

        assert await world.intent_states() == ["reserved"]

    async def test_that_the_chain_has_paid_and_the_ledger_lacks_is_for_an_operator(
        self, world: World
    ) -> None:
        """After a restore, payments since the backup are on the chain and not in the database."""
        await world.confirmed_swaps(1)
        [row] = await world.rows("SELECT paid_id FROM intent")
        world.chain.world.paid.add(int(row.paid_id))

        await world.send_everything()
        await abandon_waiting_payouts(world)

        assert await world.intent_states() == ["reserved"]
        assert await world.rows(STATUSES) == [("ls_transfer_pending", None)]
        [signer] = await world.rows("SELECT halted_reason FROM signer")
        assert signer.halted_reason.startswith("the chain has paid what the ledger has not")

    async def test_of_a_resumed_signer_has_the_full_time_limit(self, world: World) -> None:
        await world.confirmed_swaps(1)
        await change(
            world,
            "UPDATE signer SET resumed_at = now() - interval '30 minutes', resumed_by = 'me',"
            " resumed_reason = 'I looked'",
        )

        await abandon_waiting_payouts(world)

        assert await world.rows(STATUSES) == [("ls_transfer_pending", None)]

    async def test_was_signed_meanwhile_and_is_left_to_its_lane(self, world: World) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()

        assert await abandon_waiting_payouts(world) is False

        assert await world.intent_states() == ["broadcast"]

    async def test_was_signed_stands_before_no_other_that_waits(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await world.confirmed_swaps(1)

        killed_at(monkeypatch, "settler.before_send", send_payouts)
        with pytest.raises(ProcessKilled):
            await world.send_everything()
        await world.confirmed_swaps(1, first=2)
        assert sorted(await world.intent_states()) == ["assigned", "reserved"]

        [found] = await dwelling(world).find_unsent(timedelta(hours=1), limit=9)

        [waits] = await world.rows("SELECT id FROM intent WHERE state = 'reserved'")
        assert found == waits.id

    async def test_back_to_its_owner_is_claimable(self, refunding: World) -> None:
        await refunding.due_refunds(1)
        await refunding.starting_refunds()()

        await abandon_waiting_payouts(refunding)

        assert await refunding.rows(STATUSES) == [("failed", "insufficient_liquidity")]
        [claim] = await refunding.rows("SELECT kind FROM account WHERE balance < 0 AND kind ="
                                       " 'claimable'")  # fmt: skip
        assert claim.kind == "claimable"


class TestARefundWithoutAFee:
    async def test_ends_as_claimable(self, refunding: World) -> None:
        await refunding.due_refunds(1)
        refunding.chain.is_reachable = False
        await refunding.starting_refunds()()
        assert await refunding.rows(STATUSES) == [("pending_refund", "insufficient_liquidity")]

        await change(refunding, "UPDATE refund_due SET since = now() - interval '3 hours'")
        await refunding.starting_refunds()()

        assert await refunding.rows(STATUSES) == [("failed", "insufficient_liquidity")]
        assert await refunding.rows("SELECT id FROM refund_due") == []


class TestTheCounter:
    async def test_reads_zero_for_what_is_on_its_way(self, world: World) -> None:
        world.clock = lambda: datetime.now(UTC)
        world = replace(world)
        await world.confirmed_swaps(2)

        assert await stuck(world) == []

    async def test_counts_swaps_without_progress_within_the_time_limit(self, world: World) -> None:
        await world.confirmed_swaps(2)

        found = await stuck(world)
        assert [status for _, status in found] == [Status.PAYOUT_PENDING] * 2
        assert await stuck_by_page(world, limit=1) == [[id] for id, _ in found]

    async def test_counts_what_its_deadline_did_not_end(self, world: World) -> None:
        await world.requesting()([a_request(1)])

        assert [status for _, status in await stuck(world)] == [Status.DEPOSIT_PENDING]


def test_bounds_are_those_that_are_published() -> None:
    bounds = Dwell(payment=timedelta(hours=2), requote=timedelta(minutes=10)).bounds

    assert bounds == {
        Status.DEPOSIT_PENDING: timedelta(minutes=25),
        Status.PAYOUT_PENDING: 5 * HOUR,
        Status.REFUND_PENDING: 5 * HOUR,
    }


async def watched(migrate_schema: Callable[[str], str], age: timedelta) -> None:
    """Set the age of the last block of the destination that the chain-watcher has seen."""
    engine = create_engine(SecretStr(migrate_schema("chain-watcher")), application_name="test")
    async with engine.begin() as connection:
        await connection.execute(
            sql(
                "INSERT INTO watch_cursor (network, number, hash, parent_hash, time,"
                " finalized_number, start_number, checked_number, last_outbox_id)"
                " VALUES (:network, 9, '0x1', '0x2', now() - CAST(:age AS interval), 9, 0, 0, 0)"
                " ON CONFLICT (network) DO UPDATE SET time = excluded.time"
            ),
            {"network": DESTINATION, "age": age},
        )
    await engine.dispose()


class TestAChainWithoutBlocks:
    async def test_stops_the_clocks_of_what_is_out_there_and_gives_that_time_back(
        self, world: World, migrate_schema: Callable[[str], str]
    ) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()
        entered = "UPDATE nonce_slot SET assigned_at = now() - interval '5 hours'"
        await change(world, entered)
        await change(world, "ALTER TABLE swap_transition DISABLE TRIGGER append_only")
        await change(world, "UPDATE swap_transition SET at = now() - interval '5 hours'")
        await change(world, "ALTER TABLE swap_transition ENABLE TRIGGER append_only")
        await watched(migrate_schema, timedelta(seconds=1))
        assert len(await stuck(world)) == 1

        await watched(migrate_schema, 3 * HOUR)
        assert await stuck(world) == []
        [slot] = await world.store.open_slots(lowest=0)
        assert 2 * HOUR <= slot.assigned_for < 3 * HOUR

        await watched(migrate_schema, timedelta(seconds=1))
        assert await stuck(world) == []
        assert await world.rows(
            "SELECT count(*) FROM network_silence WHERE ended_at > began_at"
        ) == [(1,)]
        [slot] = await world.store.open_slots(lowest=0)
        assert 2 * HOUR <= slot.assigned_for < 3 * HOUR

        # Overlapping silences and stops count once.
        for network in (DESTINATION, "*"):
            await stopped(world, network, minutes=120)
        [slot] = await world.store.open_slots(lowest=0)
        assert 2 * HOUR <= slot.assigned_for < 3 * HOUR
        await change(world, "TRUNCATE network_silence, payout_stop")


class TestAParkedMessage:
    async def test_c8_about_a_deposit_stops_whatever_is_to_be_paid_for_it(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(2)
        await change(
            world,
            'INSERT INTO parked (consumer, topic, key, value, partition, "offset", message_id,'
            " reason, is_behind) SELECT 'settler', 'deposit.changed.v1',"
            " convert_to(deposit.id::text, 'UTF8'), '', 0, 0, gen_random_uuid(), 'two legs', false"
            " FROM deposit JOIN swap ON swap.id = swap_id WHERE swap.sequence_number = 1",
        )

        await world.send_everything()
        world.chain.mine()
        assert [world.paid_amount(n) for n in (1, 2)] == [0, PAYOUT]

        assert (
            await world.store.due(limit=10)
        ).payments == []  # and it does not precede the others

        await change(world, "UPDATE parked SET state = 'dropped', ended_at = now()")
        await change(world, "UPDATE intent SET due_at = now() WHERE state = 'reserved'")
        await world.send_everything()
        world.chain.mine()
        assert world.paid_amount(1) == PAYOUT
