"""Faults of nodes, keys and other senders during a payment, named as in the fault list."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from uuid import uuid4

import pytest

from services.settler.tests.integration.test_lane_schedules import Watcher
from services.settler.tests.lane_harness import PAYOUT, TREASURY, World, a_recipient
from swap_chains.evm import codec
from swap_chains.ports import (
    Broadcast,
    Call,
    Fees,
    NodeAnswer,
    Reaction,
    Receipt,
    SignedTransaction,
)
from swap_domain.catalogue import NATIVE
from swap_runtime.postgres.leases import LeaseLost
from swap_settler.paying.decide.lane import Payment
from swap_settler.paying.decide.slots import Attempt, ClosedSlot
from swap_settler.paying.usecases.close_slots import ROUNDS_UNEXPLAINED_MAX
from swap_settler.paying.usecases.send_payouts import ALREADY_PAID

pytestmark = pytest.mark.connected

Sent = Sequence[SignedTransaction]


def saying(world: World, reactions: Mapping[str, Reaction], *, reaches: bool) -> None:
    """Set the nodes' answers, and whether the transactions reach the pool."""
    broadcast = world.sender.broadcast

    async def answer_broadcast(transactions: Sent) -> Sequence[Broadcast]:
        if reaches:
            await broadcast(transactions)
        answers = tuple(NodeAnswer(node, r, "internal error") for node, r in reactions.items())
        return [Broadcast(one.transaction_hash, answers) for one in transactions]

    world.sender.broadcast = answer_broadcast  # type: ignore[method-assign]


async def slots_and_attempts(world: World) -> tuple[int, int]:
    slots = await world.rows("SELECT 1 FROM nonce_slot")
    return len(slots), len(await world.rows("SELECT 1 FROM attempt"))


class TestASend:
    @pytest.mark.fault("S6")
    async def test_s6_whose_answer_is_lost_is_never_signed_again(self, world: World) -> None:
        await world.confirmed_swaps(1)
        saying(world, {"a": Reaction.UNREACHABLE}, reaches=True)

        for _ in range(3):
            await world.send_everything()
            await world.rebroadcast()
        world.chain.mine()

        assert await slots_and_attempts(world) == (1, 1)
        assert world.paid_amount(1) == PAYOUT

    @pytest.mark.fault("S7")
    async def test_s7_of_the_same_bytes_by_two_settlers_pays_once(self, world: World) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()

        await asyncio.gather(world.rebroadcast(), world.rebroadcast())
        world.chain.mine()

        assert await world.intent_states() == ["broadcast"]
        assert world.paid_amount(1) == PAYOUT

    @pytest.mark.fault("S9")
    async def test_s9_of_one_intent_by_many_takes_one_slot(self, world: World) -> None:
        await world.confirmed_swaps(1)

        await asyncio.gather(*(world.new_process()(epoch=world.epoch) for _ in range(8)))
        await world.send_everything()
        world.chain.mine()

        [slots] = await world.rows("SELECT count(*) FROM slot_intent")
        assert slots.count == 1
        assert world.paid_amount(1) == PAYOUT

    @pytest.mark.parametrize("reaches", [True, False])
    @pytest.mark.fault("S21")
    async def test_s21_with_an_unknown_error_is_perhaps_out_and_sent_again(
        self, world: World, reaches: bool
    ) -> None:
        await world.confirmed_swaps(1)
        broadcast = world.sender.broadcast
        saying(world, {"a": Reaction.REJECTED}, reaches=reaches)
        await world.send_everything()
        assert await world.intent_states() == ["assigned"]

        world.sender.broadcast = broadcast  # type: ignore[method-assign]
        await world.rebroadcast()
        world.chain.mine()

        assert await slots_and_attempts(world) == (1, 1)
        assert world.paid_amount(1) == PAYOUT

    @pytest.mark.fault("S20")
    async def test_s20_without_gas_money_waits_and_gives_its_nonce_to_no_other(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(1)
        broadcast = world.sender.broadcast
        saying(world, {"a": Reaction.REJECTED}, reaches=False)
        await world.send_everything()
        await world.confirmed_swaps(1, first=2)
        await world.send_everything()

        world.sender.broadcast = broadcast  # type: ignore[method-assign]
        await world.rebroadcast()
        world.chain.mine()

        assert [r.nonce for r in await world.rows("SELECT nonce FROM attempt ORDER BY 1")] == [0, 1]
        assert [world.paid_amount(n) for n in (1, 2)] == [PAYOUT] * 2

    @pytest.mark.fault("S30")
    async def test_s30_that_one_node_accepts_is_sent_despite_another_refusal(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(1)
        saying(world, {"a": Reaction.REJECTED, "b": Reaction.ACCEPTED}, reaches=True)

        await world.send_everything()

        assert await world.intent_states() == ["broadcast"]


class TestANonce:
    @pytest.mark.fault("S11")
    async def test_s11_that_an_external_transaction_used_stops_the_signer(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()
        world.chain.pool.clear()
        external = await world.sender.sign(
            Call(to=world.sender.address, value=0, data=b"", gas_limit=21_000),
            nonce=0,
            fees=Fees(10**12, 10**12),
        )
        await world.sender.broadcast([external])
        closing = world.closing()
        for _ in range(ROUNDS_UNEXPLAINED_MAX + 3):
            world.chain.mine()
            await closing(epoch=world.epoch)

        [signer] = await world.rows("SELECT halted_reason FROM signer")
        assert "used by no transaction of ours" in signer.halted_reason
        assert await world.intent_states() == ["broadcast"]  # not dead: its user is unknown

    @pytest.mark.fault("S25")
    async def test_s25_whose_receipt_is_missing_waits_for_it(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()
        world.chain.mine(4)

        async def nothing(_: Collection[str]) -> Mapping[str, Receipt]:
            return {}

        monkeypatch.setattr(world.reader, "receipts", nothing)
        closing = world.closing()
        await closing(epoch=world.epoch)
        assert await world.rows("SELECT 1 FROM nonce_slot WHERE closed_at IS NOT NULL") == []

        monkeypatch.undo()
        world.chain.mine()
        await closing(epoch=world.epoch)
        assert len(await world.rows("SELECT 1 FROM nonce_slot WHERE closed_at IS NOT NULL")) == 1
        assert await world.intent_states() == ["broadcast"]

    @pytest.mark.fault("S24")
    async def test_s24_that_ran_out_of_gas_is_tried_again_in_another_slot(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()
        world.chain.pause()
        world.chain.mine(4)
        await world.close_slots()
        world.chain.pause(is_paused=False)

        await world.send_everything()
        world.chain.mine()

        assert await slots_and_attempts(world) == (2, 2)
        assert world.paid_amount(1) == PAYOUT


@pytest.mark.fault("S8")
async def test_s8_a_death_proven_by_an_old_holder_is_not_published_twice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old holder paused while the next one published the death and paid with another nonce."""
    await world.confirmed_swaps(1)
    await world.send_everything()
    world.chain.refuse(a_recipient(1))
    world.chain.mine(3)
    world.chain.refuse(a_recipient(1), refuses=False)
    sleeper = world.closing()
    looks = sleeper._relays

    async def sleeps(closed: Sequence[ClosedSlot]) -> Mapping[Payment, bool]:
        await world.close_slots()
        await world.send_everything()
        await world.rows("UPDATE lease SET epoch = epoch + 1")
        return await looks(closed)

    monkeypatch.setattr(sleeper, "_relays", sleeps)
    with pytest.raises(LeaseLost):
        await sleeper(epoch=world.epoch)

    assert await world.intent_states() == ["broadcast"]
    assert await slots_and_attempts(world) == (2, 2)


@pytest.mark.fault("S8")
async def test_s8_replacement_of_a_former_holder_is_not_stored(world: World) -> None:
    await world.confirmed_swaps(1)
    await world.send_everything()
    world.chain.base_fee *= 10
    replace_it = world.replacing()
    await replace_it(epoch=world.epoch)
    world.chain.mine(2)

    with pytest.raises(LeaseLost):
        await replace_it(epoch=world.epoch - 1)

    assert await slots_and_attempts(world) == (1, 1)


class TestAStolenSettler:
    @pytest.mark.parametrize("beside", [True, False], ids=["beside a stored one", "alone"])
    @pytest.mark.fault("A18")
    async def test_a18_can_neither_store_nor_send_a_payment_without_an_intent(
        self, world: World, beside: bool
    ) -> None:
        await world.confirmed_swaps(1)
        due = await world.store.due(limit=1)
        [ordered], nonce, fees = due.payments, due.next_nonce, Fees(10**12, 10**12)
        assert nonce is not None
        payments = (ordered, replace(ordered, intent_id=uuid4(), paid_id=66))
        carried = payments if beside else payments[1:]
        signed = await world.sender.sign(world.calls.paying(carried), nonce=nonce, fees=fees)
        forged = Attempt(signed, fees, frozenset(payment.intent_id for payment in carried))

        [slot] = await world.store.assign([(ordered,)], signed=[forged], epoch=world.epoch)
        assert slot.nonce == nonce
        assert await world.store.store_attempts([forged], epoch=world.epoch) == []
        await world.rebroadcast()

        assert await world.rows("SELECT 1 FROM attempt") == []
        assert world.chain.pool == {}

    @pytest.mark.parametrize(
        ("id_of", "recipient", "units"),
        [
            pytest.param(1, 66, PAYOUT, id="another recipient"),
            pytest.param(1, 1, 2 * PAYOUT, id="another amount"),
            pytest.param(None, 66, PAYOUT, id="an unknown id"),
        ],
    )
    @pytest.mark.fault("A18")
    async def test_a18_that_sends_unordered_payments_is_detected_and_halted(
        self, world: World, id_of: int | None, recipient: int, units: int
    ) -> None:
        await world.confirmed_swaps(1)
        [intent] = await world.rows("SELECT paid_id FROM intent")
        paid_id = 66 if id_of is None else int(intent.paid_id)
        payload = codec.Payment(paid_id, NATIVE, a_recipient(recipient), units)
        call = Call(TREASURY, 0, codec.encode_pay(payload), 300_000)
        signed = await world.sender.sign(call, nonce=0, fees=Fees(10**12, 10**12))
        await world.sender.broadcast([signed])
        world.chain.mine()
        assert world.paid_amount(recipient) == units

        await Watcher(world).report()
        await world.confirmed_swaps(1, first=2)
        await world.send_everything()
        world.chain.mine()

        [signer] = await world.rows("SELECT halted_reason FROM signer")
        assert f"payment {paid_id} in {signed.transaction_hash} is not one" in signer.halted_reason
        assert await world.rows("SELECT 1 FROM attempt") == []
        assert await world.intent_states() == ["reserved"] * 2
        # The Treasury pays an id a single time.
        [again] = await world.reader.simulate([call], sender=world.signer)
        assert again.data[:4] == ALREADY_PAID
        assert (world.paid_amount(recipient), world.paid_amount(2)) == (units, 0)
