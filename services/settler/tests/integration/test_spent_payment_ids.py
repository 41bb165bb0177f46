"""Payments with a spent id, before, during and after an operator's reconciliation."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from services.settler.tests.integration.reconciling import (
    OTHER,
    explaining,
    opened_beside_other,
    record_external_payment,
)
from services.settler.tests.lane_harness import (
    DESTINATION,
    NOW,
    PAYOUT,
    QUOTE,
    TREASURY,
    World,
    a_deposit,
    a_funding,
    a_recipient,
    a_request,
    expect_wrong_nonces,
)
from services.settler.tests.recovery_harness import fencing
from swap_chains.evm.codec import Payment, encode_pay_batch, intent_id
from swap_chains.fake import FakeSender
from swap_chains.ports import Call, Fees
from swap_domain.catalogue import NATIVE
from swap_settler.model import observe_changes
from swap_settler.model.changes import Changes
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from swap_settler.paying.decide.slots import Attempt
from swap_settler.paying.store.lane_store import PostgresLaneStore
from swap_settler.settling.usecases.complete_swaps import CompleteSwaps

OPERATOR_ORDER = {"by": "ann", "reason": "another deployment paid it"}
pytestmark = pytest.mark.connected
REFUEL = 10**15
EXTERNAL_RECIPIENT = a_recipient(66)


@pytest.fixture
async def world(migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_beside_other(migrate_schema) as world:
        yield world


def output(n: int) -> Payment:
    """Return the payout of the swap with that number, before or after it is ordered."""
    return Payment(
        intent_id(a_request(n).body.swap_id, "output", "main"), NATIVE, a_recipient(n), PAYOUT
    )


async def paid_by_another(world: World, *payments: Payment) -> str:
    """Have another operator make payments, in one transaction."""
    sender = FakeSender(world.chain, OTHER)
    call = Call(to=TREASURY, value=0, data=encode_pay_batch(payments), gas_limit=10**6)
    signed = await sender.sign(call, nonce=0, fees=Fees(10**13, 10**13))
    await sender.broadcast([signed])
    world.chain.mine()
    return signed.transaction_hash


async def made_by_another(world: World, *payments: Payment) -> str:
    """Make such payments in a final block, and publish them to the settler."""
    external = await paid_by_another(world, *payments)
    world.chain.mine(4)
    for paid in payments:
        await record_external_payment(
            world, external, paid.to_address, paid.base_units, paid_id=paid.intent_id
        )
    return external


async def halted_before_it_signed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Halt the signer after the payment of the first swap got a nonce and before its signature."""

    async def halted(
        self: PostgresLaneStore, attempts: Sequence[Attempt], *, epoch: int
    ) -> Sequence[Attempt]:
        await self.halt("a person must look")
        return await keep(self, attempts, epoch=epoch)

    keep = PostgresLaneStore.store_attempts
    with monkeypatch.context() as patch:
        expect_wrong_nonces(patch)
        patch.setattr(PostgresLaneStore, "store_attempts", halted)
        await world.confirmed_swaps(1)
        await world.new_process()(epoch=world.epoch)
    assert await world.intent_states() == ["assigned"]
    assert await world.rows("SELECT 1 FROM attempt") == []


async def block(world: World, address: str) -> None:
    await world.rows(
        "INSERT INTO blocked_address (address, blocked_by, blocked_because) "
        f"VALUES ('{address.lower()}', 'ann', 'it is on a list') RETURNING 1"
    )


async def is_halted(world: World) -> bool:
    [signer] = await world.rows("SELECT halted_reason IS NOT NULL AS is_so FROM signer")
    return bool(signer.is_so)


async def test_transaction_of_two_payments_can_be_explained_twice(world: World) -> None:
    """An intent for its second payment may be created after the first one was reconciled."""
    await world.confirmed_swaps(1)
    external = await made_by_another(world, output(1), output(2))
    [first] = await explaining(world)(DESTINATION, external, **OPERATOR_ORDER)
    await world.resuming()(DESTINATION, **OPERATOR_ORDER)
    await world.finish_recovery()
    await world.confirmed_swaps(1, first=2)
    await world.new_process()(epoch=world.epoch)
    assert await is_halted(world)

    [second] = await explaining(world)(DESTINATION, external, **OPERATOR_ORDER)

    assert (first.end, second.end) == ("made", "made")
    await world.resuming()(DESTINATION, **OPERATOR_ORDER)
    await world.send_everything()
    assert not await is_halted(world)
    assert await world.intent_states() == ["confirmed", "confirmed"]


async def test_an_external_payment_frees_the_nonce_that_waited_for_its_bytes(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the no-op of that nonce is sent only once, and its loss stops the lane."""
    await halted_before_it_signed(world, monkeypatch)
    external = await made_by_another(world, output(1))
    await explaining(world)(DESTINATION, external, **OPERATOR_ORDER)
    await world.resuming()(DESTINATION, **OPERATOR_ORDER)
    await world.finish_recovery()
    await world.send_everything()
    world.chain.pool.clear()  # the nodes lost it

    await world.rebroadcast()
    await world.confirmed_swaps(1, first=2)
    await world.send_everything()
    world.chain.mine(4)

    assert (world.paid_amount(1), world.paid_amount(2)) == (PAYOUT, PAYOUT)


async def test_an_external_payment_is_not_abandoned_for_its_recipient(world: World) -> None:
    """If abandoned, it would be claimable and be paid twice."""
    await world.confirmed_swaps(1)
    external = await made_by_another(world, output(1))
    await world.resuming()(DESTINATION, **OPERATOR_ORDER)
    await block(world, a_recipient(1))

    await world.new_process()(epoch=world.epoch)

    assert await world.intent_states() == ["reserved"]
    [ended] = await explaining(world)(DESTINATION, external, **OPERATOR_ORDER)
    assert ended.end == "made"


async def test_intent_with_an_unsigned_nonce_is_not_given_up_while_its_signer_is_halted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await halted_before_it_signed(world, monkeypatch)
    await block(world, a_recipient(1))

    await world.new_process()(epoch=world.epoch)
    assert await world.intent_states() == ["assigned"]

    await world.resuming()(DESTINATION, **OPERATOR_ORDER)
    await fencing(world)(epoch=world.epoch)
    await world.new_process()(epoch=world.epoch)
    # The recovery holds it: it is reserved again, its slot gets a no-op, and it waits for the end.
    assert await world.intent_states() == ["reserved"]


@pytest.mark.parametrize("is_paid", [True, False])
async def test_a_refuel_that_may_be_paid_is_not_claimable_for_being_late(
    world: World, *, is_paid: bool
) -> None:
    """Its id is spent or may be spent, so a claimable balance could be paid twice."""
    bought = {"refuel_in_source_base_units": str(10**16), "refuel_base_units": str(REFUEL)}
    request = a_request(1, quote=QUOTE.model_copy(update=bought))
    refuel_id = intent_id(request.body.swap_id, "refuel", "main")
    refuel = Payment(refuel_id, NATIVE, a_recipient(1), REFUEL)
    await world.requesting()([request])
    await world.settle(a_funding(10**24 + 1), a_deposit(1))
    external = await made_by_another(world, output(1), *([refuel] if is_paid else []))
    await explaining(world)(DESTINATION, external, **OPERATOR_ORDER)
    if is_paid:
        await world.resuming()(DESTINATION, **OPERATOR_ORDER)

    later = NOW + timedelta(minutes=3)
    work = PostgresUnitOfWork(world.engine, consumer="settler")
    await CompleteSwaps(work, clock=lambda: later, swap_messages=world.swap_messages)()

    [swap] = await world.rows("SELECT status FROM swap")
    assert swap.status == "completed"
    assert sorted(await world.intent_states()) == ["confirmed", "reserved"]
    assert await world.rows("SELECT 1 FROM account WHERE kind = 'claimable' AND balance <> 0") == []
    if is_paid:
        [ended] = await explaining(world)(DESTINATION, external, **OPERATOR_ORDER)
        assert ended.end == "made"


async def test_an_external_payment_is_not_counted_by_a_cap(world: World) -> None:
    """It waited in the cap's queue: no invariant may see the cap exceeded after reconciliation."""
    await world.rows(
        "INSERT INTO outflow_cap (network, token, units, span, set_by, set_because, set_at) VALUES "
        f"('{DESTINATION}', '{NATIVE}', 5, '1 hour', 'ann', 'a small day', '2020-01-01Z') "
        "RETURNING 1"
    )
    await world.confirmed_swaps(1)
    await world.new_process()(epoch=world.epoch)
    assert await world.rows("SELECT 1 FROM nonce_slot") == []
    external = await made_by_another(world, output(1))

    [ended] = await explaining(world)(DESTINATION, external, **OPERATOR_ORDER)

    assert ended.end == "made"


async def test_all_externally_paid_ids_are_named_when_a_payment_fails(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    results: list[Changes] = []
    monkeypatch.setattr(observe_changes, "changes_committed", results.extend)
    await world.confirmed_swaps(2)
    await world.new_process()(epoch=world.epoch)
    ours = dict(world.chain.pool)
    world.chain.pool.clear()
    await paid_by_another(world, output(1), output(2))
    world.chain.pool.update(ours)
    world.chain.mine(4)

    await world.close_slots()

    [signer] = await world.rows("SELECT halted_reason AS because FROM signer")
    for row in await world.rows("SELECT id FROM intent"):
        assert str(row.id) in signer.because
    assert [change.halt.reason for change in results if change.halt] == [signer.because]


async def test_failed_swap_is_refunded_to_an_address_that_is_set_later(world: World) -> None:
    await world.confirmed_swaps(1)
    external = await made_by_another(world, replace(output(1), to_address=EXTERNAL_RECIPIENT))
    [ended] = await explaining(world)(DESTINATION, external, **OPERATOR_ORDER)
    assert ended.end == "failed"

    await world.refund_address(1, a_recipient(9))

    [swap] = await world.rows("SELECT status FROM swap")
    assert swap.status == "pending_refund"
    assert len(await world.rows("SELECT 1 FROM refund_due")) == 1
