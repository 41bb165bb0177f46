"""Payments on the record of a deposit: of its own leg of a swap, or without a swap.

A payment of a swap's main leg is of all its deposits: the record of the swap has it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Final
from uuid import UUID

import pytest

from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.integration.test_claims import (
    OWNER,
    UNMATCHED,
    a_failed_swap,
    an_unmatched_transfer,
    only_balance,
    ordered,
)
from services.settler.tests.integration.test_operators import client
from services.settler.tests.integration.test_refunding import refunded
from services.settler.tests.lane_harness import (
    FUNDER,
    REQUESTED,
    SOURCE,
    World,
    a_deposit,
    a_funding,
    a_recipient,
    a_request,
)
from swap_domain.catalogue import NATIVE
from swap_settler.operator.store.claims import PostgresClaimUnitOfWork
from swap_settler.operator.usecases.attach_claimable import AttachClaimable, AttachOrder

pytestmark = pytest.mark.connected

MAIN: Final[UUID] = a_deposit(1).body.deposit_id
LATE: Final[UUID] = a_funding(9).body.deposit_id  # of the same swap, after its end
TRANSFER: Final[UUID] = a_deposit(5).body.deposit_id  # it names no swap
BALANCE: Final = "SELECT id FROM account WHERE kind = 'claimable' AND deposit_id = '{}'"


@pytest.fixture
async def world(migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_world(migrate_schema("settler"), SOURCE) as world:
        yield world


async def record_of(world: World, id: UUID) -> dict[str, Any]:
    async with client(world.engine) as http:
        answer = await http.get(f"/admin/deposits/{id}")
        assert answer.status == 200
        record: dict[str, Any] = await answer.json()
    return record


async def payments_of(world: World, id: UUID) -> list[dict[str, Any]]:
    payments: list[dict[str, Any]] = (await record_of(world, id))["payments"]
    return payments


def a_payment(kind: str, state: str, **values: Any) -> dict[str, Any]:
    """Return a payment of the whole deposit, as the record has it."""
    payment = {
        "kind": kind,
        "state": state,
        "network": SOURCE,
        "token": NATIVE,
        "base_units": str(REQUESTED),
        "to_address": OWNER,
        "transaction_hash": None,
    }
    return payment | values


async def confirm_latest(world: World) -> str:
    """Mine what was sent, publish that the latest payment is final, and return its hash."""
    world.chain.mine()
    [*_, attempt] = await world.rows("SELECT transaction_hash FROM attempt ORDER BY nonce")
    hash = str(attempt.transaction_hash)
    await world.payout("confirmed", version=1, transaction_hash=hash, is_first=False)
    return hash


async def refuse_until_dead(world: World, address: str) -> None:
    world.chain.refuse(address)
    for _ in range(2):
        await world.send_everything()


async def main_leg_refunded(world: World) -> None:
    await world.due_refunds(1)
    await refunded(world)
    world.chain.mine()


async def late_deposit_arrived(world: World) -> None:
    await world.settle(a_deposit(1, deposit_id=LATE))


async def attach_transfer(world: World) -> None:
    """Attach a deposit without a swap to the swap of the others."""
    attach = AttachClaimable(
        PostgresClaimUnitOfWork(world.engine, consumer="settler"),
        clock=world.clock,
        swap_messages=world.swap_messages,
    )
    swap_id = a_request(1).body.swap_id
    balance = await only_balance(world)
    await attach(AttachOrder(balance, REQUESTED, swap_id, by="ann", reason="they proved it"))


async def balance_of_late_deposit(world: World) -> int:
    """Return the balance of a late deposit to a swap without a refund address."""
    await a_failed_swap(world)
    await late_deposit_arrived(world)
    [row] = await world.rows(BALANCE.format(LATE))
    return int(row.id)


OF_CLAIM = pytest.mark.parametrize(
    ("deposit", "waiting"),
    [
        pytest.param(TRANSFER, an_unmatched_transfer, id="without a swap"),
        pytest.param(LATE, balance_of_late_deposit, id="of its own leg"),
    ],
)


class TestARefund:
    async def test_of_its_own_leg_is_on_the_record_of_that_deposit_only(self, world: World) -> None:
        await main_leg_refunded(world)
        before = world.paid_amount(1)
        await late_deposit_arrived(world)
        assert await payments_of(world, LATE) == []

        await refunded(world)
        hash = await confirm_latest(world)

        record = await record_of(world, LATE)
        paid = {"base_units": str(world.paid_amount(1) - before), "to_address": a_recipient(1)}
        assert record["payments"] == [
            a_payment("refund", "confirmed", transaction_hash=hash, **paid)
        ]
        assert record["balances"] == []
        assert {"refund_reserved", "refund_final"} <= {one["kind"] for one in record["ledger"]}
        assert await payments_of(world, MAIN) == []

    async def test_that_failed_is_in_the_ledger_alone(self, world: World) -> None:
        await main_leg_refunded(world)
        await late_deposit_arrived(world)
        await world.starting_refunds()()
        [refund] = await payments_of(world, LATE)
        assert refund["state"] == "reserved"

        await refuse_until_dead(world, a_recipient(1))

        record = await record_of(world, LATE)
        assert record["payments"] == []
        assert {one["kind"] for one in record["ledger"]} > {"refund_reserved", "refund_released"}
        assert [one["kind"] for one in record["balances"]] == ["claimable"]


class TestAClaim:
    @OF_CLAIM
    async def test_is_shown_from_its_order_to_its_end(
        self, world: World, deposit: UUID, waiting: Callable[[World], Any]
    ) -> None:
        await ordered(world, await waiting(world))
        assert await payments_of(world, deposit) == [a_payment("claim", "reserved")]

        await world.send_everything()
        assert await payments_of(world, deposit) == [a_payment("claim", "broadcast")]

        hash = await confirm_latest(world)

        record = await record_of(world, deposit)
        assert record["payments"] == [a_payment("claim", "confirmed", transaction_hash=hash)]
        assert record["balances"] == []
        assert {"claim_reserved", "claim_final"} <= {one["kind"] for one in record["ledger"]}

    @OF_CLAIM
    async def test_after_a_failed_one_is_shown_alone(
        self, world: World, deposit: UUID, waiting: Callable[[World], Any]
    ) -> None:
        await ordered(world, await waiting(world))
        await refuse_until_dead(world, OWNER)

        record = await record_of(world, deposit)

        assert await world.intent_states() == ["dead"]
        assert record["payments"] == []
        assert {one["kind"] for one in record["ledger"]} > {"claim_reserved", "claim_released"}
        assert [one["base_units"] for one in record["balances"]] == [str(REQUESTED)]

    async def test_of_the_main_leg_is_on_no_record_of_a_deposit(self, world: World) -> None:
        await ordered(world, await a_failed_swap(world))

        assert await world.intent_states() == ["reserved"]
        assert await payments_of(world, MAIN) == []


class TestAnAttachedDeposit:
    async def test_has_the_refund_of_its_leg(self, world: World) -> None:
        await main_leg_refunded(world)
        before = world.paid_amount(1)
        await an_unmatched_transfer(world)
        await attach_transfer(world)

        await refunded(world)
        hash = await confirm_latest(world)

        record = await record_of(world, TRANSFER)
        paid = {"base_units": str(world.paid_amount(1) - before), "to_address": a_recipient(1)}
        assert record["deposit"]["swap_id"] == str(a_request(1).body.swap_id)
        assert record["payments"] == [
            a_payment("refund", "confirmed", transaction_hash=hash, **paid)
        ]
        assert record["balances"] == []
        kinds = {one["kind"] for one in record["ledger"]}
        assert {"suspended", "matched", "refund_final"} <= kinds

    async def test_has_no_failed_claim_from_before(self, world: World) -> None:
        await main_leg_refunded(world)
        await ordered(world, await an_unmatched_transfer(world))
        await refuse_until_dead(world, OWNER)
        await attach_transfer(world)

        await world.starting_refunds()()

        record = await record_of(world, TRANSFER)
        assert [(one["kind"], one["state"]) for one in record["payments"]] == [
            ("refund", "reserved")
        ]
        kinds = {one["kind"] for one in record["ledger"]}
        assert {"claim_reserved", "claim_released", "matched", "refund_reserved"} <= kinds

    async def test_that_pays_its_swap_has_no_payment_of_its_own(self, world: World) -> None:
        await world.settle(a_funding(10**24))
        await world.request_swap(1)
        await an_unmatched_transfer(world)

        await attach_transfer(world)

        [output] = await world.rows("SELECT kind, deposit_id FROM intent")
        assert output == ("output", None)
        assert await payments_of(world, TRANSFER) == []


class TestARevertedDeposit:
    @pytest.mark.parametrize(
        ("deposit", "waiting", "fact"),
        [
            pytest.param(TRANSFER, an_unmatched_transfer, (5, UNMATCHED), id="without a swap"),
            pytest.param(
                LATE, balance_of_late_deposit, (1, {"deposit_id": LATE}), id="on its own leg"
            ),
        ],
    )
    async def test_loses_the_payment_that_was_not_sent(
        self,
        world: World,
        deposit: UUID,
        waiting: Callable[[World], Any],
        fact: tuple[int, dict[str, Any]],
    ) -> None:
        number, of_it = fact
        await ordered(world, await waiting(world))

        await world.settle(a_deposit(number, version=3, state="reverted", **of_it))

        record = await record_of(world, deposit)
        assert record["deposit"]["state"] == "reverted"
        assert record["payments"] == record["balances"] == []
        assert "claim_released" in {one["kind"] for one in record["ledger"]}

    async def test_keeps_the_payment_that_was_sent_beside_its_loss(self, world: World) -> None:
        await world.settle(a_deposit(8, from_address=FUNDER, **UNMATCHED))  # it covers the loss
        await main_leg_refunded(world)
        before = world.paid_amount(1)
        await late_deposit_arrived(world)
        await refunded(world)
        await world.settle(a_deposit(1, deposit_id=LATE, version=3, state="reverted"))
        [sent] = await payments_of(world, LATE)
        assert sent["state"] == "broadcast"

        hash = await confirm_latest(world)

        record = await record_of(world, LATE)
        paid = {"base_units": str(world.paid_amount(1) - before), "to_address": a_recipient(1)}
        assert record["payments"] == [
            a_payment("refund", "confirmed", transaction_hash=hash, **paid)
        ]
        assert {"refund_final", "lost"} <= {one["kind"] for one in record["ledger"]}
