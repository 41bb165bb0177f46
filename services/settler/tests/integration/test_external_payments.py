"""An external transaction has spent an intent's id at the Treasury."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from services.settler.tests.admin_port import as_operator
from services.settler.tests.fakes import FixedPrices
from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.integration.reconciling import (
    OTHER,
    explaining,
    opened_beside_other,
    record_external_payment,
)
from services.settler.tests.lane_harness import (
    DESTINATION,
    FUNDER,
    PAYOUT,
    REQUESTED,
    SIGNER,
    SOURCE,
    TREASURY,
    World,
    a_deposit,
    a_recipient,
)
from swap_chains.evm.codec import Payment, encode_pay
from swap_chains.fake import FakeSender
from swap_chains.ports import Call, Fees
from swap_domain.catalogue import NATIVE
from swap_runtime.errors import RequestRefused, Unavailable
from swap_settler.operator.http.reconciliation import ReconciliationAdmin
from swap_settler.operator.store.claims import PostgresClaimUnitOfWork
from swap_settler.operator.store.records import PostgresRecords
from swap_settler.operator.usecases.pay_claimable import PayClaimable, PaymentOrder
from swap_settler.settling.store.dwelling import PostgresDwelling
from tests.support.serving import client_of, post

OPERATOR_ORDER = {"by": "ann", "reason": "another deployment paid it"}
pytestmark = pytest.mark.connected
FEES = Fees(10**13, 10**13)
EXTERNAL_RECIPIENT = a_recipient(66)


@pytest.fixture
async def world(migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_beside_other(migrate_schema) as world:
        yield world


async def spend_payment_id(
    world: World, to_address: str, base_units: int = PAYOUT, *, signer: str = OTHER
) -> str:
    """Have another operator, or another holder of our key, use the id of the payment."""
    [row] = await world.rows("SELECT paid_id FROM intent")
    payment = Payment(int(row.paid_id), NATIVE, to_address, base_units)
    call = Call(to=TREASURY, value=0, data=encode_pay(payment), gas_limit=10**6)
    sender = FakeSender(world.chain, signer)
    signed = await sender.sign(call, nonce=0, fees=FEES)
    await sender.broadcast([signed])
    world.chain.mine()
    return signed.transaction_hash


def with_exceeded_limits(world: World) -> World:
    """Set the clock so that every payment has exceeded its time limit."""
    later = datetime.now(UTC) + timedelta(hours=3)
    return replace(world, clock=lambda: later, dwell=timedelta(hours=2))


async def is_halted(world: World) -> bool:
    [signer] = await world.rows("SELECT halted_reason IS NOT NULL AS is_so FROM signer")
    return bool(signer.is_so)


async def status(world: World) -> str:
    [swap] = await world.rows("SELECT status FROM swap")
    return str(swap.status)


async def balances(world: World) -> dict[str, int]:
    rows = await world.rows(
        "SELECT kind, sum(balance) AS held FROM account WHERE kind IN "
        "('in_flight', 'payout_suspense', 'claimable', 'swap_liability') GROUP BY kind"
    )
    return {row.kind: int(row.held) for row in rows if row.held}


async def pay_externally(world: World, to_address: str, base_units: int = PAYOUT) -> str:
    """Run the lane after a final external transaction has used the id of its payment."""
    await world.confirmed_swaps(1)
    external = await spend_payment_id(world, to_address, base_units)
    await world.new_process()(epoch=world.epoch)
    world.chain.mine(4)
    await record_external_payment(world, external, to_address, base_units)
    assert await is_halted(world)
    return external


class TestExplaining:
    async def test_signer_halts_again_until_an_operator_explains_the_payment(
        self, world: World
    ) -> None:
        """The log equals the order, but no attempt made the payment."""
        await pay_externally(world, a_recipient(1))

        for _ in range(2):
            await world.resuming()(DESTINATION, **OPERATOR_ORDER)
            # A recovery would hold it, and cannot end before it is reconciled.
            await world.rows("DELETE FROM recovery RETURNING 1")
            await world.rows("UPDATE intent SET due_at = now() RETURNING 1")
            await world.new_process()(epoch=world.epoch)

            assert await is_halted(world)
            assert await status(world) == "ls_transfer_pending"

    async def test_is_not_abandoned_for_its_age_after_a_resume(self, world: World) -> None:
        """It does not count as unsent, as a payment in a cap's queue does not."""
        await pay_externally(world, a_recipient(1))
        await world.resuming()(DESTINATION, **OPERATOR_ORDER)

        dwelling = PostgresDwelling(world.engine, networks=[SOURCE, DESTINATION])
        assert await dwelling.find_unsent(timedelta(0), limit=10) == {}

    @pytest.mark.fault("S11")
    async def test_intent_paid_externally_as_ordered_is_made(self, world: World) -> None:
        external = await pay_externally(world, a_recipient(1))

        [ended] = await explaining(world)(DESTINATION, external, **OPERATOR_ORDER)

        assert (ended.end, await status(world)) == ("made", "completed")
        assert await world.intent_states() == ["confirmed"]
        assert await balances(world) == {}
        [intent] = await world.rows("SELECT transaction_hash FROM intent")
        assert intent.transaction_hash == external
        assert ended.swap_id is not None
        record = await PostgresRecords(world.engine).find_swap(ended.swap_id)
        assert record is not None
        *_, last = record["transitions"]  # type: ignore[misc]
        assert last["cause"] == "payment_reconciled"
        [stored] = record["taken"]  # type: ignore[misc]  # rows, as an operator reads them
        assert (stored["named_by"], stored["named_because"]) == (
            OPERATOR_ORDER["by"],
            OPERATOR_ORDER["reason"],
        )
        await world.resuming()(DESTINATION, **OPERATOR_ORDER)
        await world.send_everything()
        assert not await is_halted(world)

    async def test_intent_whose_id_paid_another_recipient_fails_and_is_claimable(
        self, world: World
    ) -> None:
        external = await pay_externally(world, EXTERNAL_RECIPIENT)
        await world.refund_address(1, a_recipient(9))

        [ended] = await explaining(world)(DESTINATION, external, **OPERATOR_ORDER)

        assert (ended.end, await status(world)) == ("failed", "failed")
        assert await world.intent_states() == ["dead"]
        assert await balances(world) == {"claimable": -REQUESTED, "payout_suspense": PAYOUT}
        assert await world.rows("SELECT 1 FROM refund_due") == []
        await world.resuming()(DESTINATION, **OPERATOR_ORDER)
        await world.send_everything()
        assert not await is_halted(world)

    async def test_an_external_payment_of_our_own_key_ends_as_well(self, world: World) -> None:
        """Its nonce must be named first: ADR 0029."""
        await world.confirmed_swaps(1)
        await world.send_everything()
        world.chain.pool.clear()
        external = await spend_payment_id(world, a_recipient(1), signer=SIGNER)
        world.chain.mine(4)
        await record_external_payment(world, external, a_recipient(1))
        with pytest.raises(RequestRefused, match="may be in a block"):
            await explaining(world)(DESTINATION, external, **OPERATOR_ORDER)
        await world.resuming()(DESTINATION, used_by=[external], **OPERATOR_ORDER)
        assert await world.intent_states() == ["broadcast"]

        await explaining(world)(DESTINATION, external, **OPERATOR_ORDER)

        assert await status(world) == "completed"
        assert await balances(world) == {}

    async def test_is_shown_on_the_internal_port(self, world: World) -> None:
        external = await pay_externally(world, a_recipient(1))
        admin = ReconciliationAdmin(explaining(world))
        async with client_of(post("/", as_operator(admin.reconcile))) as http:
            assert (await http.post("/", json={"network": DESTINATION})).status == 400
            order = {"network": DESTINATION, "transaction_hash": external, **OPERATOR_ORDER}
            answer = await http.post("/", json=order)
            [ended] = (await answer.json())["ended"]

        assert (ended["end"], ended["to"]) == ("made", a_recipient(1))

    async def test_two_operators_order_it_once(self, world: World) -> None:
        external = await pay_externally(world, a_recipient(1))
        orders = [explaining(world)(DESTINATION, external, **OPERATOR_ORDER) for _ in range(2)]

        results = await asyncio.gather(*orders, return_exceptions=True)

        assert sorted(type(one).__name__ for one in results) == ["RequestRefused", "list"]
        assert await balances(world) == {}

    async def test_is_refused_until_it_is_final(self, world: World) -> None:
        await world.confirmed_swaps(1)
        external = await spend_payment_id(world, a_recipient(1))
        with pytest.raises(RequestRefused, match="in no final block"):
            await explaining(world)(DESTINATION, external, **OPERATOR_ORDER)
        world.chain.mine(4)
        with pytest.raises(RequestRefused, match="as final yet"):
            await explaining(world)(DESTINATION, external, **OPERATOR_ORDER)

        assert await world.intent_states() == ["reserved"]

    async def test_a_payment_of_another_amount_is_left_and_blocks_no_other(
        self, world: World
    ) -> None:
        external = await pay_externally(world, a_recipient(1), PAYOUT - 1)

        for _ in range(2):
            [ended] = await explaining(world)(DESTINATION, external, **OPERATOR_ORDER)
            assert (ended.end, await status(world)) == ("left", "ls_transfer_pending")
        await world.resuming()(DESTINATION, **OPERATOR_ORDER)
        await world.finish_recovery()
        await world.confirmed_swaps(1, first=2)
        await world.send_everything()
        world.chain.mine(4)
        await world.close_slots()

        assert not await is_halted(world)
        assert (world.paid_amount(1), world.paid_amount(2)) == (PAYOUT - 1, PAYOUT)
        assert sorted(await world.intent_states()) == ["broadcast", "broadcast"]
        dwelling = PostgresDwelling(world.engine, networks=[SOURCE, DESTINATION])
        assert await dwelling.find_unsent(timedelta(0), limit=10) == {}

    async def test_is_refused_for_a_transaction_of_the_service(self, world: World) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()
        world.chain.mine(4)
        [ours] = await world.rows("SELECT transaction_hash FROM attempt")

        with pytest.raises(RequestRefused, match="signed here"):
            await explaining(world)(DESTINATION, ours.transaction_hash, **OPERATOR_ORDER)


class TestExplainingAClaim:
    """A claim belongs to no swap, and its balance has no other id at the Treasury."""

    @pytest.fixture
    async def external(self, other_world: World, to_address: str) -> str:
        transfer = {"kind": "native_received", "sequence_number": None}
        # The owner's funding is there as well; otherwise a theft would leave nothing to owe.
        await other_world.settle(
            a_deposit(5, **transfer), a_deposit(6, from_address=FUNDER, **transfer)
        )
        [waiting] = await other_world.rows("SELECT id FROM account WHERE kind = 'suspense'")
        work = PostgresClaimUnitOfWork(other_world.engine, consumer="settler")
        pay = PayClaimable(
            work,
            catalogue=other_world.catalogue,
            clock=other_world.clock,
            swap_messages=other_world.swap_messages,
            prices=FixedPrices(),
        )
        await pay(PaymentOrder(waiting.id, REQUESTED, a_recipient(1), by="ann", reason="proved"))
        external = await spend_payment_id(other_world, to_address, REQUESTED)
        await other_world.new_process()(epoch=other_world.epoch)
        other_world.chain.mine(4)
        await record_external_payment(other_world, external, to_address, REQUESTED)
        return external

    @pytest.fixture
    async def other_world(self, migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
        async with opened_world(migrate_schema("settler"), SOURCE) as world:
            world.chain.authorize(OTHER)
            yield world

    @pytest.mark.parametrize(
        ("to_address", "end", "state", "left"),
        [
            (a_recipient(1), "made", "confirmed", {}),
            (
                EXTERNAL_RECIPIENT,
                "left",
                "broadcast",
                {"in_flight": -REQUESTED, "payout_suspense": REQUESTED},
            ),
        ],
    )
    async def test_is_made_or_left_and_blocks_no_other(
        self, other_world: World, external: str, end: str, state: str, left: dict[str, int]
    ) -> None:
        [ended] = await explaining(other_world)(SOURCE, external, **OPERATOR_ORDER)

        assert (ended.end, ended.swap_id) == (end, None)
        assert await other_world.intent_states() == [state]
        assert await balances(other_world) == left
        await other_world.resuming()(SOURCE, **OPERATOR_ORDER)
        await other_world.send_everything()
        assert not await is_halted(other_world)


class TestPaidByAnother:
    @pytest.mark.parametrize("is_cancelled", [False, True])
    @pytest.mark.fault("S23")
    async def test_s23_is_not_refunded_when_the_services_payment_is_dead(
        self, world: World, *, is_cancelled: bool
    ) -> None:
        """It would be abandoned after its time limit, although the user has the money."""
        await world.confirmed_swaps(1)
        await world.new_process()(epoch=world.epoch)
        if is_cancelled:
            world.chain.base_fee *= 10  # no block includes it
            cancel = world.replacing(dwell=timedelta(0))
            await cancel(epoch=world.epoch)
            world.chain.mine(2)
            assert await cancel(epoch=world.epoch) == 1
            world.chain.base_fee //= 10
        [newest] = await world.rows(
            "SELECT transaction_hash AS h, is_cancel FROM attempt ORDER BY signed_at DESC LIMIT 1"
        )
        assert newest.is_cancel is is_cancelled
        ours = {newest.h: world.chain.pool[newest.h]}
        world.chain.pool.clear()
        await spend_payment_id(world, a_recipient(1))
        world.chain.pool.update(ours)
        world.chain.mine(4)

        await with_exceeded_limits(world).close_slots()

        assert await world.intent_states() == ["broadcast"]
        assert await status(world) == "ls_transfer_pending"
        assert await is_halted(world)
        assert await world.rows("SELECT 1 FROM nonce_slot WHERE closed_at IS NULL") == []
        dwelling = PostgresDwelling(world.engine, networks=[SOURCE, DESTINATION])
        await world.resuming()(DESTINATION, **OPERATOR_ORDER)
        assert await dwelling.find_unsent(timedelta(0), limit=10) == {}


@pytest.mark.parametrize("is_gone", [False, True])
async def test_external_payment_is_awaited_until_it_is_final(
    world: World, *, is_gone: bool
) -> None:
    """If a reorg removes it, our payment is retried or refunded, as if it had never been made."""
    await world.confirmed_swaps(1)
    await world.new_process()(epoch=world.epoch)
    world.chain.refuse(a_recipient(1))
    world.chain.mine(4)
    world.chain.refuse(a_recipient(1), refuses=False)
    await spend_payment_id(world, a_recipient(1))

    with pytest.raises(Unavailable, match="not final"):
        await with_exceeded_limits(world).close_slots()
    assert await world.intent_states() == ["broadcast"]
    if is_gone:
        world.chain.reorg(1)
        world.chain.pool.clear()
    world.chain.mine(4)
    await with_exceeded_limits(world).close_slots()

    assert await world.intent_states() == ["dead" if is_gone else "broadcast"]
    assert await is_halted(world) is not is_gone


async def test_intent_is_not_given_up_while_its_signer_is_halted(world: World) -> None:
    """The chain may have a payment that the ledger lacks: only an operator can decide."""
    await world.confirmed_swaps(1)
    world.chain.refuse(a_recipient(1))
    await world.store.halt("a person must look")

    for _ in range(3):
        await world.new_process()(epoch=world.epoch)

    assert await world.intent_states() == ["reserved"]
    assert await status(world) == "ls_transfer_pending"
