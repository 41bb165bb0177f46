"""Outflow caps on a real Postgres: payments above a cap wait, visibly and in order."""

from __future__ import annotations

import asyncio
import random
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import aiohttp
import pytest

from services.settler.tests.admin_port import as_operator, weighing
from services.settler.tests.lane_harness import DESTINATION, IDS, PAYOUT, SOURCE, World, a_recipient
from swap_chains.fake import FakeSender
from swap_domain.catalogue import NATIVE
from swap_runtime.errors import RequestRefused
from swap_runtime.postgres.leases import Lease
from swap_runtime.postgres.sql import sql
from swap_settler.operator.decide.stakes import CapLimit, CapName
from swap_settler.operator.http.caps import CapAdmin
from swap_settler.operator.store.blocked import PostgresBlocked
from swap_settler.operator.store.caps import PostgresCaps
from swap_settler.operator.store.losses import PostgresLosses
from swap_settler.operator.usecases.manage_blocked_addresses import (
    BlockOrder,
    ManageBlockedAddresses,
)
from swap_settler.operator.usecases.manage_caps import ManageCaps
from swap_settler.paying.store.lane_store import LaneName, PostgresLaneStore
from swap_settler.paying.store.lane_unit_of_work import PostgresLaneUnitOfWork
from swap_settler.paying.usecases.mark_sent import MarkSent
from swap_settler.paying.usecases.send_payouts import SendPayouts
from tests.support.serving import client_of, get, post

pytestmark = pytest.mark.connected
OPERATOR_ORDER = {"by": "ann", "reason": "as agreed"}
OF_TOKEN = CapName(DESTINATION, "ETH")
DAY = timedelta(days=1)
MICROS = 2_700_000_000  # the value of one payout
OTHER_SIGNER = "0x0000000000000000000000000000000000000005"


def keeping(world: World) -> ManageCaps:
    caps = PostgresCaps(world.engine, networks=[DESTINATION])
    return ManageCaps(caps, catalogue=world.catalogue)


async def cap(world: World, payouts: int, name: CapName = OF_TOKEN, span: timedelta = DAY) -> None:
    await keeping(world).set(name, CapLimit(payouts * PAYOUT, span), **OPERATOR_ORDER)


async def pass_time(world: World, duration: timedelta) -> None:
    """Move past outflow back in time, because the database's clock cannot be moved."""
    async with world.engine.begin() as connection:
        values = {"duration": duration}
        older = "UPDATE outflow_counted SET until = until - CAST(:duration AS interval)"
        await connection.execute(sql(older), values)
        older = "UPDATE outflow_spent SET until = until - CAST(:duration AS interval)"
        # A moved row may get the key of the next one, which moves later.
        drop_key = "ALTER TABLE outflow_spent DROP CONSTRAINT outflow_spent_pkey"
        await connection.execute(sql(drop_key))
        await connection.execute(sql(older), values)
        await connection.execute(sql("ALTER TABLE outflow_spent ADD PRIMARY KEY (cap_id, until)"))
        for table, column in (("intent", "slot_at"), ("outflow_cap", "set_at")):
            older = f"UPDATE {table} SET {column} = {column} - CAST(:duration AS interval)"
            await connection.execute(sql(older), values)


async def left(world: World) -> list[int]:
    """Return the numbers of the swaps with a sent payout, in the order of their nonces."""
    query = """
        SELECT sequence_number FROM slot_intent JOIN intent ON intent.id = intent_id
        JOIN swap ON swap.id = swap_id ORDER BY nonce, intent.created_at, intent.id
    """
    return [row.sequence_number for row in await world.rows(query)]


async def order_reservations(world: World, *numbers: int) -> None:
    """Give payouts with the same creation time an order."""
    async with world.engine.begin() as connection:
        for place, number in enumerate(numbers):
            await connection.execute(
                sql(
                    "UPDATE intent SET created_at = intent.created_at + CAST(:later AS interval)"
                    " FROM swap WHERE swap.id = swap_id AND sequence_number = :number"
                ),
                {"later": timedelta(seconds=place), "number": number},
            )


async def worth(world: World, number: int, payouts: int) -> None:
    async with world.engine.begin() as connection:
        await connection.execute(
            sql(
                "UPDATE intent SET base_units = :units FROM swap"
                " WHERE swap.id = swap_id AND sequence_number = :number"
            ),
            {"units": str(payouts * PAYOUT), "number": number},
        )


async def came_from(world: World, number: int, network: str) -> None:
    async with world.engine.begin() as connection:
        moved = sql("UPDATE swap SET source_network = :network WHERE sequence_number = :number")
        await connection.execute(moved, {"network": network, "number": number})


class TestACap:
    @pytest.mark.fault("A16")
    async def test_a16_lets_wait_what_is_beyond_it_until_the_span_is_over(
        self, world: World
    ) -> None:
        await cap(world, 2)
        await world.confirmed_swaps(5)
        await order_reservations(world, 3, 1, 5, 2, 4)

        await world.send_everything()
        assert await left(world) == [3, 1]

        await pass_time(world, DAY / 2)
        await world.send_everything()
        assert len(await left(world)) == 2

        await pass_time(world, DAY)
        await world.send_everything()
        assert (await left(world))[2:] == [5, 2]

        await pass_time(world, DAY * 2)
        await world.send_everything()
        world.chain.mine()
        assert [world.paid_amount(n) for n in range(1, 6)] == [PAYOUT] * 5
        assert await world.rows("SELECT 1 FROM outflow_queue") == []

    @pytest.mark.parametrize("token", [None, "ETH"])
    @pytest.mark.parametrize("app_id", [None, IDS])
    async def test_counts_a_network_a_token_and_an_app(
        self, world: World, token: str | None, app_id: UUID | None
    ) -> None:
        units = PAYOUT if token else MICROS
        name = CapName(DESTINATION, token, app_id)
        await keeping(world).set(name, CapLimit(2 * units, DAY), **OPERATOR_ORDER)
        await world.confirmed_swaps(3)

        await world.send_everything()

        assert len(await left(world)) == 2

    async def test_of_another_token_or_app_has_no_effect(self, world: World) -> None:
        await cap(world, 0, CapName(DESTINATION, "USDC"))
        await cap(world, 0, CapName(DESTINATION, "ETH", UUID(int=5)))
        await world.confirmed_swaps(3)

        await world.send_everything()

        assert len(await left(world)) == 3

    async def test_sends_no_smaller_payment_before_a_waiting_one(self, world: World) -> None:
        await cap(world, 3)
        await world.confirmed_swaps(3)
        await order_reservations(world, 1, 2, 3)
        await worth(world, 1, 2)
        await worth(world, 2, 2)

        await world.send_everything()
        await world.confirmed_swaps(1, first=4)
        await order_reservations(world, 0, 0, 0, 4)
        await world.send_everything()
        assert await left(world) == [1]

        await pass_time(world, DAY * 2)
        await world.send_everything()
        assert await left(world) == [1, 2, 3]

    async def test_is_not_held_up_by_what_is_larger_than_all_of_it(self, world: World) -> None:
        await cap(world, 3)
        await world.confirmed_swaps(3)
        await order_reservations(world, 1, 2, 3)
        await worth(world, 1, 4)

        await world.send_everything()
        assert await left(world) == [2, 3]
        [waits] = await keeping(world).list_queued(limit=20)
        assert str(waits["reason"]).startswith("larger than the cap of ")

        await cap(world, 6)
        await world.send_everything()
        assert await left(world) == [2, 3, 1]

    @pytest.mark.fault("R5")
    async def test_r5_is_not_blocked_by_deposits_of_a_network_over_its_loss_budget(
        self, world: World
    ) -> None:
        await cap(world, 1)
        await world.confirmed_swaps(3)
        await order_reservations(world, 1, 2, 3)
        await world.send_everything()
        await came_from(world, 3, "ELSEWHERE")
        await PostgresLosses(world.engine).stop(SOURCE, because="reorgs", last_lifted=None)
        await pass_time(world, DAY + DAY / 12)

        await world.send_everything()

        assert await left(world) == [1, 3]
        await came_from(world, 3, SOURCE)

    async def test_lifted_lets_everything_go(self, world: World) -> None:
        await cap(world, 1)
        await world.confirmed_swaps(3)
        await world.send_everything()

        await keeping(world).lift(OF_TOKEN, **OPERATOR_ORDER)
        await world.send_everything()

        assert len(await left(world)) == 3
        with pytest.raises(RequestRefused, match="no such cap"):
            await keeping(world).lift(OF_TOKEN, **OPERATOR_ORDER)

    async def test_of_one_app_does_not_hold_up_the_others_of_its_token(self, world: World) -> None:
        await cap(world, 1, CapName(DESTINATION, "ETH", IDS))
        await cap(world, 3)
        await world.confirmed_swaps(4)
        async with world.engine.begin() as connection:
            others = "UPDATE swap SET app_id = :app_id WHERE sequence_number > 2"
            await connection.execute(sql(others), {"app_id": UUID(int=9)})
        await order_reservations(world, 1, 2, 3, 4)

        await world.send_everything()

        assert await left(world) == [1, 3, 4]

    async def test_counts_a_refused_payment_only_when_it_leaves(self, world: World) -> None:
        await cap(world, 1)
        await world.confirmed_swaps(2)
        await order_reservations(world, 1, 2)
        world.chain.refuse("0x00000000000000000000000000000000A0000001")

        await world.send_everything()

        assert await left(world) == [2]

    async def test_counts_what_failed_on_the_chain_only_when_it_is_tried_again(
        self, world: World
    ) -> None:
        await cap(world, 1)
        await payment_reverts(world)
        assert await spent(world) == 0

        await world.send_everything()

        assert await left(world) == [1, 1]
        assert await spent(world) == PAYOUT
        world.chain.mine()
        assert world.paid_amount(1) == PAYOUT

    async def test_has_room_for_the_next_when_a_payment_is_given_up(self, world: World) -> None:
        await cap(world, 1)
        await payment_reverts(world)
        world.chain.refuse(a_recipient(1))
        await world.send_everything()
        assert await world.intent_states() == ["dead"]

        await world.confirmed_swaps(1, first=2)
        await world.send_everything()

        assert await left(world) == [1, 2]
        assert await spent(world) == PAYOUT

    async def test_that_refuses_with_another_keeps_a_payment_until_both_have_room(
        self, world: World
    ) -> None:
        await cap(world, 1)
        of_network = CapName(DESTINATION)
        await keeping(world).set(of_network, CapLimit(MICROS, DAY), **OPERATOR_ORDER)
        await world.confirmed_swaps(2)
        await order_reservations(world, 1, 2)

        await world.send_everything()
        assert await left(world) == [1]
        assert len(await world.rows("SELECT 1 FROM outflow_queue")) == 2
        assert {one["intent_id"] for one in await keeping(world).list_queued(limit=20)} == {
            str(one.id)
            for one in await world.rows("SELECT id FROM intent WHERE state = 'reserved'")
        }

        await cap(world, 2)
        await world.send_everything()
        assert await left(world) == [1]

        await keeping(world).set(of_network, CapLimit(2 * MICROS, DAY), **OPERATOR_ORDER)
        await world.send_everything()
        assert await left(world) == [1, 2]
        assert await world.rows("SELECT 1 FROM outflow_queue") == []
        assert await spent(world) == 2 * PAYOUT + 2 * MICROS


async def payment_reverts(world: World) -> None:
    """Send a payment that reverts in a final block."""
    await world.confirmed_swaps(1)
    await world.send_everything()
    assert await spent(world) == PAYOUT
    world.chain.refuse(a_recipient(1))
    world.chain.mine(3)
    await world.close_slots()
    world.chain.refuse(a_recipient(1), refuses=False)
    assert await world.intent_states() == ["reserved"]


async def spent(world: World) -> int:
    [(units,)] = await world.rows("SELECT coalesce(sum(spent), 0) FROM outflow_spent")
    return int(units)


class TestTheQueue:
    async def test_shows_what_waits_why_and_since_when(self, world: World) -> None:
        await cap(world, 1)
        await world.confirmed_swaps(2)
        await world.send_everything()

        async with _client(world) as http:
            [waits] = (await (await http.get("/admin/payouts/queue")).json())["waiting"]
            [shown] = (await (await http.get("/admin/caps")).json())["caps"]

        assert waits["kind"] == "output"
        assert waits["base_units"] == str(PAYOUT)
        assert waits["reason"] == f"the cap of {NATIVE} has no room for it yet"
        assert shown["spent"] == shown["units"] == str(PAYOUT)
        assert shown["waiting"] == 1
        lines = await PostgresCaps(world.engine, networks=[DESTINATION]).queues()
        assert lines[DESTINATION][0] == 1

    async def test_is_paged_and_shows_one_payment_by_its_id(self, world: World) -> None:
        await cap(world, 1)
        await world.confirmed_swaps(3)
        await world.send_everything()

        async with _client(world) as http:
            path = "/admin/payouts/queue"
            first = await (await http.get(path, params={"limit": 1})).json()
            second = await (await http.get(path, params={"limit": 1, **first["next"]})).json()
            id = second["waiting"][0]["intent_id"]
            found = await (await http.get(f"{path}/{id}")).json()
            [paid] = await world.rows("SELECT id FROM intent WHERE state <> 'reserved'")
            missing = [(await http.get(f"{path}/{id}")).status for id in (paid.id, "none")]
            halves = [{name: value} for name, value in first["next"].items()]
            refused = [(await http.get(path, params=half)).status for half in halves]

        assert first["waiting"] != second["waiting"]
        assert refused == [400, 400]
        assert second["next"] is None
        assert found == {"waiting": second["waiting"][0]}
        assert missing == [404, 404]

    async def test_lets_one_through_that_an_operator_names_and_counts_it(
        self, world: World
    ) -> None:
        await cap(world, 1)
        await world.confirmed_swaps(3)
        await order_reservations(world, 1, 2, 3)
        await world.send_everything()
        waiting = await keeping(world).list_queued(limit=20)
        last = waiting[-1]["intent_id"]

        async with _client(world) as http:
            path = f"/admin/payouts/queue/{last}/pass"
            assert (await http.post(path, json=OPERATOR_ORDER)).status == 200
            assert (await http.post(path, json={})).status == 400
        await world.send_everything()

        assert len(await left(world)) == 2
        assert [one["intent_id"] for one in await keeping(world).list_queued(limit=20)] == [
            one["intent_id"] for one in waiting if one["intent_id"] != last
        ]
        assert await world.rows("SELECT sum(spent) FROM outflow_spent") == [(2 * PAYOUT,)]
        with pytest.raises(RequestRefused, match="waits for no cap"):
            await keeping(world).grant_pass(UUID(str(last)), **OPERATOR_ORDER)

    async def test_explains_an_invalid_order(self, world: World) -> None:
        order = {**OPERATOR_ORDER, "network": DESTINATION, "units": "1", "seconds": 60}
        wrong: list[dict[str, Any]] = [{"units": "-1"}, {"seconds": 0}, {"reason": ""}]
        async with _client(world) as http:
            for change in wrong:
                assert (await http.post("/admin/caps", json={**order, **change})).status == 400
        for name in (CapName("NOWHERE"), CapName(DESTINATION, "DOGE")):
            with pytest.raises(RequestRefused):
                await keeping(world).set(name, CapLimit(1, DAY), **OPERATOR_ORDER)


class TestTheTreasurysOwnLimit:
    async def test_delays_payments_that_would_revert(self, world: World) -> None:
        await world.confirmed_swaps(60)
        world.chain.limit(NATIVE, capacity=30 * PAYOUT, available=20 * PAYOUT)

        await world.send_everything()
        assert len(await left(world)) == 20
        world.chain.mine()
        await world.send_everything()
        assert len(await left(world)) == 20
        waiting = await keeping(world).list_queued(limit=20)
        assert {one["reason"] for one in waiting} == {"the Treasury's own limit of the token"}

        world.chain.limit(NATIVE, capacity=30 * PAYOUT, available=30 * PAYOUT)
        await settled(world)
        await world.send_everything()
        world.chain.mine()
        world.chain.limit(NATIVE, capacity=30 * PAYOUT, available=30 * PAYOUT)
        await settled(world)
        await world.send_everything()
        world.chain.mine()

        assert sum(world.paid_amount(n) for n in range(1, 61)) == 60 * PAYOUT
        assert await world.rows("SELECT 1 FROM intent WHERE failures > 0") == []
        # Batches: neither one payment at a time, nor a batch that reverts.
        assert len(await world.rows("SELECT 1 FROM nonce_slot")) <= 4

    async def test_is_not_blocked_by_a_payment_larger_than_its_capacity(self, world: World) -> None:
        await world.confirmed_swaps(3)
        await order_reservations(world, 1, 2, 3)
        await worth(world, 1, 4)
        world.chain.limit(NATIVE, capacity=3 * PAYOUT, available=3 * PAYOUT)

        await world.send_everything()

        assert await left(world) == [2, 3]

    async def test_that_is_lowered_admits_what_fits_beside_larger_payments(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(53)
        await order_reservations(world, *range(1, 54))
        for number in range(1, 53):
            await worth(world, number, 4)
        world.chain.limit(NATIVE, capacity=3 * PAYOUT, available=3 * PAYOUT)

        for _ in range(3):
            await world.send_everything()
        assert await left(world) == [53]
        world.chain.mine()
        await settled(world)
        await world.confirmed_swaps(1, first=60)
        world.chain.limit(NATIVE, capacity=3 * PAYOUT, available=3 * PAYOUT)
        await world.send_everything()
        assert await left(world) == [53, 60]
        assert len(await world.rows("SELECT 1 FROM outflow_queue WHERE is_too_large")) == 52

        # After a raise it admits them too, the smallest first, a few at a time.
        world.chain.mine()
        await settled(world)
        world.chain.limit(NATIVE, capacity=400 * PAYOUT, available=400 * PAYOUT)
        for _ in range(12):
            await world.send_everything()
        assert len(await left(world)) == 54
        assert await world.rows("SELECT 1 FROM outflow_queue WHERE is_too_large") != []

    async def test_of_one_token_holds_up_no_other(self, world: World) -> None:
        alone = range(1, 18)
        await world.confirmed_swaps(18)
        await order_reservations(world, *alone, 18)
        await in_token(world, 18)
        for number in alone:
            await worth(world, number, 2)
        await change(world, "UPDATE intent SET goes_alone = true WHERE token = :coin", coin=NATIVE)
        world.chain.limit(NATIVE, capacity=10 * PAYOUT, available=PAYOUT)

        for _ in range(3):
            await world.send_everything()

        assert await left(world) == [18]

    async def test_is_not_used_by_payments_to_blocked_recipients(self, world: World) -> None:
        await world.confirmed_swaps(2)
        await order_reservations(world, 1, 2)
        world.chain.limit(NATIVE, capacity=3 * PAYOUT, available=PAYOUT)
        await world.send_everything()
        world.chain.mine()
        await settled(world)
        await world.confirmed_swaps(1, first=3)
        await order_reservations(world, 3, 2)
        blocking = ManageBlockedAddresses(PostgresBlocked(world.engine), catalogue=world.catalogue)
        await blocking.block(BlockOrder((a_recipient(3),), None, "ann", "a court says so"))
        world.chain.limit(NATIVE, capacity=3 * PAYOUT, available=PAYOUT)

        await world.send_everything()

        assert await left(world) == [1, 2]


async def change(world: World, statement: str, **values: Any) -> None:
    async with world.engine.begin() as connection:
        await connection.execute(sql(statement), values)


async def in_token(world: World, number: int) -> None:
    """Change the payout of a swap to a token of the network instead of its coin."""
    network = world.catalogue.network(DESTINATION)
    [token] = [t.asset.token for t in network.tokens if t.asset.token != NATIVE][:1]
    world.chain.give(network.contracts.treasury, token, PAYOUT)
    await change(
        world,
        "UPDATE intent SET token = :token FROM swap"
        " WHERE swap.id = swap_id AND sequence_number = :number",
        token=token,
        number=number,
    )


async def settled(world: World) -> None:
    """Apply the facts of all transactions in blocks."""
    async with world.engine.begin() as connection:
        await connection.execute(
            sql("UPDATE intent SET state = 'mined', block_number = 1 WHERE state = 'broadcast'")
        )


class TestTwoLanesAtOnce:
    async def test_never_send_more_than_the_cap_in_any_span_and_all_of_it_in_the_end(
        self, world: World
    ) -> None:
        chance = random.Random(7)
        count, capped = 60, 9
        await cap(world, capped)
        await world.confirmed_swaps(count)
        units: dict[int, int] = {n: chance.choice([1, 1, 2, 3]) for n in range(1, count + 1)}
        for number, payouts in units.items():
            await worth(world, number, payouts)
        await order_reservations(world, *chance.sample(range(1, count + 1), count))
        lanes = [world.new_process(), await another_lane(world)]
        epochs = [world.epoch, world.epoch]

        now, results = timedelta(0), dict[int, timedelta]()
        for _ in range(400):
            await asyncio.gather(
                *(lane(epoch=epoch) for lane, epoch in zip(lanes, epochs, strict=True))
            )
            for number in await left(world):
                results.setdefault(number, now)
            inside = [units[n] for n, at in results.items() if now - DAY < at]
            assert sum(inside) <= capped
            if len(results) == count:
                break
            world.chain.mine()
            await settled(world)
            step = DAY * chance.randint(1, 9) / 10
            now += step
            await pass_time(world, step)

        assert len(results) == count
        assert len(await left(world)) == count  # once each


async def another_lane(world: World) -> SendPayouts:
    """Return a lane of another signer on the same network."""
    world.chain.authorize(OTHER_SIGNER)
    lane = LaneName(DESTINATION, OTHER_SIGNER)
    lease = Lease(world.engine, lane.lease, holder="other")
    await lease.acquire()
    assert lease.epoch == world.epoch
    store = PostgresLaneStore(world.engine, lane)
    await store.open_signer(0)
    work = PostgresLaneUnitOfWork(world.engine, consumer="settler", lane=lane)
    return SendPayouts(
        chain=world.reader,
        sender=FakeSender(world.chain, OTHER_SIGNER),
        store=store,
        result_listener=MarkSent(work, clock=world.clock, swap_messages=world.swap_messages),
        abandon_payouts=world.abandon_payouts,
        end_relays=world.end_relays,
        calls=replace(world.calls, signer=OTHER_SIGNER),
        screen=world.screening,
        fee_cap=10**12,
    )


def _client(world: World) -> AbstractAsyncContextManager[aiohttp.ClientSession]:
    admin = CapAdmin(keeping(world), weighing(world.engine, world.catalogue))
    return client_of(
        get("/admin/caps", admin.list_all),
        post("/admin/caps", as_operator(admin.set)),
        get("/admin/payouts/queue", admin.list_queued),
        get("/admin/payouts/queue/{id}", admin.one_queued),
        post("/admin/payouts/queue/{id}/pass", as_operator(admin.grant_pass)),
    )
