"""The kill switch, on a real Postgres: queued payments are not signed after a stop."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest

from services.settler.tests.admin_port import as_operator
from services.settler.tests.lane_harness import (
    DESTINATION,
    PAYOUT,
    SOURCE,
    World,
    a_recipient,
    expect_wrong_nonces,
)
from swap_runtime.errors import RequestRefused
from swap_runtime.operators.admin_routes import OperatorOrder
from swap_runtime.postgres.leases import require_epoch
from swap_runtime.postgres.sql import sql
from swap_runtime.screening import BlockList, FreshList
from swap_settler.operator.decide.signer import EVERYWHERE
from swap_settler.operator.http.stops import StopAdmin
from swap_settler.operator.store.blocked import PostgresBlocked
from swap_settler.operator.store.losses import PostgresLosses
from swap_settler.operator.store.stops import ROUND_TIMEOUT, PostgresStops
from swap_settler.operator.usecases.guard_losses import GuardLosses
from swap_settler.operator.usecases.manage_blocked_addresses import (
    BlockOrder,
    ManageBlockedAddresses,
)
from swap_settler.operator.usecases.stop_payouts import StopPayouts
from swap_settler.paying.usecases.send_payouts import SendPayouts
from tests.support.locks import until_blocked
from tests.support.serving import client_of, get, post

pytestmark = pytest.mark.connected
OPERATOR_ORDER = {"by": "ann", "reason": "a key leaked"}
HERE = pytest.mark.parametrize("where", [DESTINATION, EVERYWHERE])


def switch(world: World, *, patience: timedelta = ROUND_TIMEOUT) -> StopPayouts:
    stops = PostgresStops(world.engine, patience=patience)
    return StopPayouts(stops, networks=[SOURCE, DESTINATION])


def guarding(world: World, *, budget: int = 0) -> GuardLosses:
    budgets = {SOURCE: budget, DESTINATION: budget}
    return GuardLosses(PostgresLosses(world.engine), budgets=budgets, span=timedelta(days=1))


# How bytes are stored: with their nonce, or after it.
STORING = pytest.mark.parametrize("storing", ["assign", "store_attempts"])


async def stopped_before_its_bytes(world: World) -> SendPayouts:
    """Return a lane that was stopped between nonce and signature, and has run again since."""
    send, keep = world.new_process(), world.store.store_attempts

    async def stopped_meanwhile(*arguments: Any, **more: Any) -> Any:
        await switch(world).stop(EVERYWHERE, **OPERATOR_ORDER)
        return await keep(*arguments, **more)

    with pytest.MonkeyPatch.context() as patch:
        expect_wrong_nonces(patch)
        patch.setattr(world.store, "store_attempts", stopped_meanwhile)
        assert await send(epoch=world.epoch) == 0
    assert await send(epoch=world.epoch) == 0
    return send


class TestTheKillSwitch:
    @HERE
    @pytest.mark.fault("A17")
    async def test_a17_leaves_what_is_queued_unsigned_until_it_is_lifted(
        self, world: World, where: str
    ) -> None:
        await world.confirmed_swaps(2)
        await switch(world).stop(where, **OPERATOR_ORDER)

        await world.send_everything()
        assert await world.rows("SELECT 1 FROM attempt") == []
        assert await world.rows("SELECT 1 FROM nonce_slot") == []

        await switch(world).lift(where, by="ann", reason="another key")
        await world.send_everything()
        world.chain.mine()
        assert [world.paid_amount(n) for n in (1, 2)] == [PAYOUT] * 2

    @HERE
    @STORING
    @pytest.mark.fault("A17")
    async def test_a17_discards_payments_that_are_being_signed(
        self, world: World, where: str, storing: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await world.confirmed_swaps(1)
        send, store = world.new_process(), getattr(world.store, storing)
        if storing == "store_attempts":
            expect_wrong_nonces(monkeypatch)

        async def stopped_meanwhile(*arguments: Any, **more: Any) -> Any:
            await switch(world).stop(where, **OPERATOR_ORDER)
            return await store(*arguments, **more)

        monkeypatch.setattr(world.store, storing, stopped_meanwhile)
        assert await send(epoch=world.epoch) == 0
        assert await send(epoch=world.epoch) == 0

        assert await world.rows("SELECT 1 FROM attempt") == []
        assert world.chain.pool == {}

    @pytest.mark.fault("A17")
    async def test_a17_answers_only_when_no_more_attempts_can_be_stored(self, world: World) -> None:
        await world.confirmed_swaps(2)
        async with world.engine.begin() as other:
            # The round has checked that it may sign, and cannot store its bytes yet.
            await other.execute(sql("LOCK TABLE attempt IN EXCLUSIVE MODE"))
            sending = asyncio.create_task(world.new_process()(epoch=world.epoch))
            await until_blocked(world.engine, "INSERT INTO attempt")
            stop_payouts = switch(world, patience=timedelta(seconds=10))
            stopping = asyncio.create_task(stop_payouts.stop(EVERYWHERE, **OPERATOR_ORDER))
            await until_blocked(world.engine, "FOR UPDATE OF lease")
            assert not stopping.done()

        assert await stopping
        attempts = await world.rows("SELECT transaction_hash FROM attempt ORDER BY nonce")
        await sending
        await world.confirmed_swaps(2, first=3)
        await world.send_everything()

        assert attempts
        again = await world.rows("SELECT transaction_hash FROM attempt ORDER BY nonce")
        assert again == attempts

    async def test_does_not_wait_for_ever_for_a_round_that_hangs(self, world: World) -> None:
        stops = PostgresStops(world.engine)
        async with world.engine.begin() as hanging:
            await require_epoch(hanging, world.lane.lease, world.epoch)
            stop_payouts = switch(world, patience=timedelta(milliseconds=50))

            assert not await stop_payouts.stop(DESTINATION, **OPERATOR_ORDER)

            assert await stops.rounds_have_ended(SOURCE)
        [stop] = await stop_payouts.list_all()
        assert stop.network == DESTINATION
        assert await stops.rounds_have_ended(EVERYWHERE)

    async def test_does_not_replace_either_and_the_clock_of_a_payment_stands(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()
        world.chain.base_fee *= 10
        await switch(world).stop(EVERYWHERE, **OPERATOR_ORDER)
        replace_it = world.replacing()
        await replace_it(epoch=world.epoch)
        world.chain.mine(2)

        assert await replace_it(epoch=world.epoch) == 0
        [slot] = await world.store.open_slots(lowest=0)
        assert slot.assigned_for < timedelta(seconds=1)

    async def test_of_one_network_does_not_stop_the_others(self, world: World) -> None:
        await world.confirmed_swaps(1)
        await switch(world).stop(SOURCE, **OPERATOR_ORDER)

        await world.send_everything()
        world.chain.mine()

        assert world.paid_amount(1) == PAYOUT

    @pytest.mark.fault("A17")
    async def test_a17_leaves_no_gap_when_it_stops_between_a_nonce_and_its_bytes(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(1)
        send = await stopped_before_its_bytes(world)
        await switch(world).lift(EVERYWHERE, **OPERATOR_ORDER)

        for _ in range(2):
            await send(epoch=world.epoch)
        world.chain.mine()

        assert world.paid_amount(1) == PAYOUT

    async def test_does_not_pay_blocked_addresses_while_enabled(self, world: World) -> None:
        world.screens = FreshList(BlockList(world.engine))
        await world.confirmed_swaps(2)
        send = await stopped_before_its_bytes(world)
        keep = ManageBlockedAddresses(PostgresBlocked(world.engine), catalogue=world.catalogue)
        await keep.block(BlockOrder((a_recipient(1),), None, **OPERATOR_ORDER))
        await switch(world).lift(EVERYWHERE, **OPERATOR_ORDER)

        for _ in range(4):
            await send(epoch=world.epoch)
        world.chain.mine()

        assert [world.paid_amount(n) for n in (1, 2)] == [0, PAYOUT]
        assert (
            await world.rows(
                "SELECT 1 FROM nonce_slot AS slot WHERE NOT EXISTS (SELECT FROM"
                " attempt WHERE attempt.nonce = slot.nonce)"
            )
            == []
        )

    async def test_sends_what_was_signed_before(self, world: World) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()
        world.chain.pool.clear()
        await switch(world).stop(EVERYWHERE, **OPERATOR_ORDER)

        await world.rebroadcast()
        world.chain.mine()

        assert world.paid_amount(1) == PAYOUT

    async def test_ordered_twice_is_on_once_and_off_once(self, world: World) -> None:
        await switch(world).stop(DESTINATION, **OPERATOR_ORDER)
        await switch(world).stop(DESTINATION, by="bob", reason="me too")
        [stop] = await switch(world).list_all()

        assert (stop.by, stop.reason) == ("ann", "a key leaked")
        assert await switch(world).lift(DESTINATION, **OPERATOR_ORDER) == []
        with pytest.raises(RequestRefused, match="not stopped"):
            await switch(world).lift(DESTINATION, **OPERATOR_ORDER)
        with pytest.raises(RequestRefused, match="not a network"):
            await switch(world).stop("NOWHERE", **OPERATOR_ORDER)

    async def test_is_thrown_on_the_internal_port(self, world: World) -> None:
        admin = StopAdmin(switch(world), guard_losses=guarding(world))

        async with client_of(
            get("/", admin.list_all),
            post("/stop", as_operator(admin.stop)),
            post("/go", as_operator(admin.lift)),
        ) as http:
            wrong = await http.post("/stop", json={"by": "ann"})
            on = await (await http.post("/stop", json=OPERATOR_ORDER)).json()
            listed = await (await http.get("/")).json()
            off = await (await http.post("/go", json=OPERATOR_ORDER)).json()

        assert wrong.status == 400
        assert [stop["network"] for stop in on["stops"]] == ["*"]
        assert {**listed, "nothing_is_signed": True} == on
        assert off == {"stops": []}

    async def test_a_stop_that_was_ordered_since_stays(self, world: World) -> None:
        admin = StopAdmin(switch(world), guard_losses=guarding(world))
        routes = post("/stop", as_operator(admin.stop)), post("/go", as_operator(admin.lift))
        proposed = OperatorOrder("ann", {}, json.dumps(OPERATOR_ORDER).encode())

        async with client_of(get("/", admin.list_all), *routes) as http:
            [first] = (await (await http.post("/stop", json=OPERATOR_ORDER)).json())["stops"]
            bound = await admin.add_stop(proposed)
            await http.post("/go", json={**OPERATOR_ORDER, "stopped_at": first["at"]})
            await http.post("/stop", json=OPERATOR_ORDER)
            with pytest.raises(RequestRefused, match="since"):
                await admin.lift(bound)
            [second] = (await (await http.get("/")).json())["stops"]

        assert first["kind"] == second["kind"] == "signing"
        assert json.loads(bound.body)["stopped_at"] == first["at"].replace("+00:00", "Z")

    async def test_a_stop_that_was_ordered_again_is_not_lifted_by_an_earlier_order(
        self, world: World
    ) -> None:
        admin = StopAdmin(switch(world), guard_losses=guarding(world))
        await switch(world).stop(DESTINATION, **OPERATOR_ORDER)
        proposed = OperatorOrder(
            "ann", {}, json.dumps({**OPERATOR_ORDER, "network": DESTINATION}).encode()
        )
        bound = await admin.add_stop(proposed)

        await switch(world).stop(DESTINATION, by="bob", reason="another incident")

        with pytest.raises(RequestRefused, match="since"):
            await admin.lift(bound)
        assert [stop.network for stop in await switch(world).list_all()] == [DESTINATION]

    async def test_lifts_what_a_loss_budget_stopped_only_when_that_is_named(
        self, world: World
    ) -> None:
        await PostgresLosses(world.engine).stop(SOURCE, because="reorgs", last_lifted=None)
        admin = StopAdmin(switch(world), guard_losses=guarding(world))
        routes = get("/", admin.list_all), post("/go", as_operator(admin.lift))

        async with client_of(*routes) as http:
            [listed] = (await (await http.get("/")).json())["stops"]
            nowhere = await http.post("/go", json={**OPERATOR_ORDER, "is_of_losses": True})
            with_losses = {**OPERATOR_ORDER, "network": SOURCE, "is_of_losses": True}
            off = await (await http.post("/go", json=with_losses)).json()

        assert (listed["network"], listed["reason"]) == (SOURCE, "reorgs")
        assert "payouts go NETWORK --losses" in listed["means"]
        assert nowhere.status == 400
        assert off == {"stops": []}
