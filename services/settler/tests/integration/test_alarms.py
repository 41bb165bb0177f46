"""Alerts before money is affected: gas that runs out, money that names no swap, caps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from typing import Any, ClassVar

import pytest

from services.settler.tests.lane_harness import (
    DESTINATION,
    PAYOUT,
    SIGNER,
    SOURCE,
    World,
    a_deposit,
    a_funding,
)
from swap_domain.catalogue import NATIVE
from swap_runtime.postgres.sql import sql
from swap_runtime.telemetry.metrics import REGISTRY
from swap_settler.model import observe_changes
from swap_settler.operator import observe as observe_operator
from swap_settler.operator.decide.stakes import CapLimit, CapName
from swap_settler.operator.store.backlogs import PostgresBacklogs
from swap_settler.operator.store.caps import PostgresCaps
from swap_settler.operator.usecases.manage_caps import ManageCaps
from swap_settler.operator.usecases.show_balances import ShowBalances
from swap_settler.paying import observe as observe_paying
from swap_settler.paying.decide.lane import GasAlarm

pytestmark = pytest.mark.connected

OF_ONE_PAYMENT = 10**15
ALARM = GasAlarm(OF_ONE_PAYMENT, payments_min=50)
WITHOUT_SWAP: dict[str, Any] = {"kind": "native_received", "sequence_number": None}


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Return the errors that are logged, which alert an operator."""
    alarms: list[dict[str, Any]] = []
    for module in (observe_changes, observe_paying, observe_operator):
        monkeypatch.setattr(
            module.log, "error", lambda event, **more: alarms.append({"event": event, **more})
        )
    return alarms


def payments_left(world: World) -> float | None:
    labels = {"network": world.network, "signer": world.signer}
    return REGISTRY.get_sample_value("swap_settler_signer_payments_left", labels)


def waiting_payments() -> tuple[float | None, float | None]:
    """Return the number of payments that wait for a cap, and the wait of the first one."""
    names = "swap_settler_payments_waiting", "swap_settler_payments_waiting_oldest_seconds"
    count, oldest = (REGISTRY.get_sample_value(name, {"network": DESTINATION}) for name in names)
    return count, oldest


def without_swap() -> float:
    metric = REGISTRY.get_sample_value(
        "swap_settler_deposits_without_swap_total", {"network": SOURCE}
    )
    return metric or 0.0


class TestGas:
    @pytest.mark.fault("S20")
    async def test_s20_that_runs_out_alerts_while_payments_are_still_sent(
        self, world: World, records: list[dict[str, Any]]
    ) -> None:
        world.chain.give(SIGNER, NATIVE, 49 * OF_ONE_PAYMENT + 1)
        world.chain.mine(5)

        await world.closing(ALARM)(epoch=world.epoch)

        assert payments_left(world) == 49
        [alarm] = [one for one in records if one["event"] == "top up a signer"]
        assert (alarm["network"], alarm["signer"], alarm["payments"]) == (DESTINATION, SIGNER, 49)
        await world.confirmed_swaps(1)
        await world.send_everything()
        world.chain.mine()
        assert world.paid_amount(1) == PAYOUT

    @pytest.mark.fault("S20")
    async def test_s20_that_is_topped_up_alerts_no_longer(
        self, world: World, records: list[dict[str, Any]]
    ) -> None:
        closing = world.closing(ALARM)
        for received, left in ((OF_ONE_PAYMENT, 1), (49 * OF_ONE_PAYMENT, 50)):
            records.clear()
            world.chain.give(SIGNER, NATIVE, received)
            world.chain.mine(5)
            await closing(epoch=world.epoch)

            assert payments_left(world) == left
            assert [one["event"] for one in records] == ["top up a signer"] * (left < 50)


class TestMoneyThatNamesNoSwap:
    @pytest.mark.parametrize("states", [["confirmed"], ["seen", "confirmed"]])
    @pytest.mark.fault("W22")
    async def test_w22_a_transfer_without_a_memo_is_counted_once(
        self, world: World, states: list[str]
    ) -> None:
        before = without_swap()

        for version, state in enumerate(states, 1):
            metric = a_deposit(5, **WITHOUT_SWAP, state=state, version=version)
            await world.settle(metric)
            await world.settle(metric)  # Kafka delivers it twice

        assert without_swap() == before + 1

    @pytest.mark.fault("W22")
    async def test_w22_what_names_a_swap_or_is_the_owners_is_not(self, world: World) -> None:
        before = without_swap()
        await world.request_swap(1)

        await world.settle(a_deposit(1), a_funding(7))

        assert without_swap() == before


class TestTheLineOfACap:
    CAP = CapName(DESTINATION, "ETH")
    ORDER: ClassVar[dict[str, Any]] = {
        "by": "ann",
        "reason": "as agreed",
    }

    @pytest.mark.fault("A16")
    async def test_a16_is_counted_and_alerts_an_operator_when_its_first_waits_too_long(
        self, world: World, records: list[dict[str, Any]]
    ) -> None:
        caps = ManageCaps(
            PostgresCaps(world.engine, networks=[DESTINATION]), catalogue=world.catalogue
        )
        await caps.set(self.CAP, CapLimit(PAYOUT, timedelta(days=1)), **self.ORDER)
        await world.confirmed_swaps(3)
        await world.send_everything()

        await caps.report()
        count, oldest = waiting_payments()
        assert count == 2
        assert oldest is not None
        assert 0 <= oldest < observe_operator.QUEUE_TOO_SLOW.total_seconds()
        assert records == []

        await has_waited(world, observe_operator.QUEUE_TOO_SLOW)
        await caps.report()
        count, oldest = waiting_payments()
        assert count == 2
        assert oldest is not None
        assert oldest >= observe_operator.QUEUE_TOO_SLOW.total_seconds()
        [alarm] = records
        assert alarm["event"] == "payments wait long for a cap"
        assert (alarm["network"], alarm["count"]) == (DESTINATION, 2)

        records.clear()
        await caps.set(self.CAP, CapLimit(3 * PAYOUT, timedelta(days=1)), **self.ORDER)
        await world.send_everything()
        await caps.report()
        assert waiting_payments() == (0, 0)
        assert records == []


async def has_waited(world: World, duration: timedelta) -> None:
    """Move the start of all waits for a cap back, because the database's clock cannot be moved."""
    older = "UPDATE outflow_queue SET since = since - CAST(:duration AS interval)"
    async with world.engine.begin() as connection:
        await connection.execute(sql(older), {"duration": duration})


def backlogs(world: World) -> Callable[[], Awaitable[None]]:
    treasuries = {
        name: network.contracts.treasury for name, network in world.catalogue.networks.items()
    }
    show_balances = ShowBalances(PostgresBacklogs(world.engine, treasuries=treasuries))
    return partial(show_balances.report, list(treasuries))


async def with_status(world: World, status: str) -> None:
    async with world.engine.begin() as connection:
        await connection.execute(sql("UPDATE swap SET status = :status"), {"status": status})


def measured(name: str, network: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(f"swap_settler_{name}", {"network": network, **labels})


def open_swaps(status: str) -> tuple[float | None, float | None]:
    """Return the number of swaps in a status, and the age of the oldest."""
    names = "swap_settler_open_swaps", "swap_settler_open_swaps_oldest_seconds"
    count, oldest = (REGISTRY.get_sample_value(name, {"status": status}) for name in names)
    return count, oldest


class TestWhatWaitsToBePaid:
    async def test_a_deposit_is_unsettled_until_its_swap_ends(self, world: World) -> None:
        await world.confirmed_swaps(2)
        older = "UPDATE deposit SET heard_at = now() - interval '1 hour'"
        async with world.engine.begin() as connection:
            await connection.execute(sql(older))

        await backlogs(world)()

        assert measured("unsettled_deposits", SOURCE) == 2
        assert measured("unsettled_deposits", DESTINATION) == 0
        oldest = measured("unsettled_deposits_oldest_seconds", SOURCE)
        assert oldest == pytest.approx(3600, abs=60)
        await with_status(world, "completed")
        await backlogs(world)()
        assert measured("unsettled_deposits", SOURCE) == 0
        assert measured("unsettled_deposits_oldest_seconds", SOURCE) == 0
        await with_status(world, "ls_transfer_pending")  # it agrees with the ledger

    async def test_open_swaps_are_counted_by_status_with_the_age_of_the_oldest(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(2)
        async with world.engine.begin() as connection:
            await connection.execute(sql("UPDATE swap SET created_at = now() - interval '1 hour'"))

        await backlogs(world)()

        assert open_swaps("ls_transfer_pending") == (2, pytest.approx(3600, abs=60))
        assert open_swaps("user_transfer_pending") == (0, 0)
        await with_status(world, "completed")
        await backlogs(world)()
        assert open_swaps("ls_transfer_pending") == (0, 0)
        await with_status(world, "ls_transfer_pending")  # it agrees with the ledger

    async def test_a_refund_is_pending_from_its_decision_until_it_is_final(
        self, world: World
    ) -> None:
        await world.due_refunds(3)

        await backlogs(world)()
        assert measured("refunds_pending", SOURCE) == 3
        oldest = measured("refunds_pending_oldest_seconds", SOURCE)
        assert oldest is not None
        assert oldest >= 0

        async with world.engine.begin() as connection:
            await connection.execute(sql("DELETE FROM refund_due"))
        await backlogs(world)()
        assert measured("refunds_pending", SOURCE) == 0

    async def test_the_treasury_is_compared_with_what_is_owed(self, world: World) -> None:
        await world.confirmed_swaps(1)
        treasury = world.catalogue.network(DESTINATION).contracts.treasury
        asset = {"network": DESTINATION, "token": NATIVE}
        [row] = await world.rows(
            "SELECT held_base_units, owed_base_units FROM inventory"
            f" WHERE network = '{DESTINATION}' AND token = '{NATIVE}'"
        )
        older, newest = 7, 10**30  # more than a double can count in ones
        async with world.engine.begin() as connection:
            for number, units in enumerate((older, newest)):
                await connection.execute(
                    sql(
                        "INSERT INTO balance_snapshot (network, address, token, block_number,"
                        " block_hash, balance)"
                        " VALUES (:network, :address, :token, :number, 'b', :units)"
                    ),
                    {**asset, "address": treasury, "number": number, "units": str(units)},
                )

        await backlogs(world)()

        assert measured("held_base_units", **asset) == int(row.held_base_units)
        assert measured("owed_base_units", **asset) == int(row.owed_base_units)
        assert measured("treasury_base_units", **asset) == float(newest)
