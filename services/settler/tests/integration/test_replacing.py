"""Nonces that are not mined: on a real Postgres, and a chain with the nodes' rules."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from services.settler.tests.lane_harness import (
    PAYOUT,
    World,
    a_deposit,
    a_recipient,
)
from swap_chains.ports import NodeReceipt
from swap_domain.catalogue import NATIVE
from swap_settler.paying.usecases import replace_stuck
from tests.support.crashes import ProcessKilled, killed_at

pytestmark = pytest.mark.connected

ATTEMPTS = """
SELECT nonce, is_cancel, max_fee_per_gas AS fee, max_priority_fee_per_gas AS tip, transaction_hash
FROM attempt ORDER BY signed_at
"""


async def stuck(world: World, count: int = 1) -> None:
    """Send payouts, then raise the base fee of blocks above their offer."""
    await world.confirmed_swaps(count)
    await world.send_everything()
    world.chain.base_fee *= 10


async def replaced(world: World, **settings: Any) -> int:
    """Detect stuck nonces, mine two blocks without them, and replace them."""
    replace_it = world.replacing(**settings)
    await replace_it(epoch=world.epoch)
    world.chain.mine(2)
    return await replace_it(epoch=world.epoch)


class TestAStuckNonce:
    @pytest.mark.fault("S13")
    async def test_s13_is_offered_more_on_both_fields_and_paid_once(self, world: World) -> None:
        await stuck(world)

        assert await replaced(world) == 1
        world.chain.mine()

        first, second = await world.rows(ATTEMPTS)
        assert (first.nonce, second.nonce) == (0, 0)
        assert second.fee * 1000 >= first.fee * 1125
        assert second.tip * 1000 >= first.tip * 1125
        assert world.paid_amount(1) == PAYOUT

    @pytest.mark.fault("S13")
    async def test_s13_carries_every_payment_of_its_slot(self, world: World) -> None:
        await stuck(world, 3)

        await replaced(world)
        world.chain.mine()

        assert [world.paid_amount(n) for n in (1, 2, 3)] == [PAYOUT] * 3

    @pytest.mark.fault("S16")
    async def test_s16_at_the_cap_is_sent_again_and_stays(self, world: World) -> None:
        await stuck(world)
        [attempt] = await world.rows(ATTEMPTS)

        assert await replaced(world, fee_cap=int(attempt.fee)) == 0
        world.chain.drop(attempt.transaction_hash)
        assert await world.rebroadcast() == 1

        assert len(await world.rows(ATTEMPTS)) == 1
        assert await world.intent_states() == ["broadcast"]
        assert await world.rows("SELECT status FROM swap") == [("ls_transfer_pending",)]

    @pytest.mark.fault("S17")
    async def test_s17_that_the_original_leaves_first_is_paid_by_it(self, world: World) -> None:
        await stuck(world)
        original = next(iter(world.chain.pool.values()))
        await replaced(world)
        world.chain.base_fee //= 10
        world.chain.pool.clear()
        world.chain.pool[original.transaction_hash] = original

        world.chain.mine(4)
        await world.payout("seen", version=1, transaction_hash=original.transaction_hash)
        await world.close_slots()

        assert world.paid_amount(1) == PAYOUT
        assert await world.intent_states() == ["mined"]
        [consumed] = await world.rows("SELECT transaction_hash FROM signer_transaction")
        assert consumed.transaction_hash == original.transaction_hash

    async def test_is_not_replaced_while_no_block_is_mined(self, world: World) -> None:
        await stuck(world)
        replace_it = world.replacing()

        for _ in range(3):
            assert await replace_it(epoch=world.epoch) == 0

    async def test_is_not_replaced_by_a_halted_signer(self, world: World) -> None:
        await stuck(world)
        await world.store.halt("a person must look")

        assert await replaced(world) == 0
        assert len(await world.rows(ATTEMPTS)) == 1

    @pytest.mark.fault("S19")
    async def test_s19_that_was_evicted_is_sent_again_as_the_newest_bytes(
        self, world: World
    ) -> None:
        await stuck(world)
        await replaced(world)
        world.chain.pool.clear()

        assert await world.rebroadcast() == 1
        world.chain.mine()

        assert world.paid_amount(1) == PAYOUT

    async def test_whose_replacement_was_stored_and_not_sent_is_paid_once(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await stuck(world)
        point = "settler.after_replacement"
        killed_at(monkeypatch, point, replace_stuck)
        replace_it = world.replacing()
        with pytest.raises(ProcessKilled):
            await replace_it(epoch=world.epoch)
        world.chain.mine(2)
        killed_at(monkeypatch, point, replace_stuck)
        with pytest.raises(ProcessKilled):
            await replace_it(epoch=world.epoch)

        await world.rebroadcast()
        world.chain.mine()

        assert len(await world.rows(ATTEMPTS)) == 2
        assert world.paid_amount(1) == PAYOUT


class TestADwellTime:
    async def test_ends_in_a_no_op_with_a_proof_that_ends_the_swap(self, world: World) -> None:
        world.abandon_payouts._retries = replace(
            world.abandon_payouts._retries, dwell=timedelta(days=-9999)
        )
        await stuck(world)

        await replaced(world, dwell=timedelta(0))
        world.chain.mine(4)
        await world.close_slots()

        payment, cancel = await world.rows(ATTEMPTS)
        assert (payment.is_cancel, cancel.is_cancel) == (False, True)
        assert cancel.fee * 1000 >= payment.fee * 1125
        assert world.paid_amount(1) == 0
        assert await world.intent_states() == ["dead"]
        assert await world.rows("SELECT status, fail_reason FROM swap") == [
            ("failed", "destination_unavailable")
        ]
        [proof] = await world.rows("SELECT dead_proof -> 'slots' -> 0 AS slot FROM intent")
        assert proof.slot["consumed_by"] == cancel.transaction_hash

    @pytest.mark.fault("S18")
    async def test_s18_of_which_the_payment_wins_completes(self, world: World) -> None:
        await stuck(world)
        payment = next(iter(world.chain.pool.values()))
        await replaced(world, dwell=timedelta(0))
        world.chain.pool.clear()
        world.chain.pool[payment.transaction_hash] = payment
        world.chain.base_fee //= 10
        world.chain.mine(4)

        await world.close_slots()
        await world.payout("confirmed", version=2, transaction_hash=payment.transaction_hash)

        assert world.paid_amount(1) == PAYOUT
        assert await world.rows("SELECT status FROM swap") == [("completed",)]

    @pytest.mark.fault("R3")
    async def test_r3_that_a_reorg_puts_in_the_payments_place_ends_in_one_payment(
        self, world: World
    ) -> None:
        await stuck(world)
        payment = next(iter(world.chain.pool.values()))
        await replaced(world, dwell=timedelta(0))
        cancel = next(iter(world.chain.pool.values()))
        world.chain.pool = {payment.transaction_hash: payment}
        world.chain.base_fee //= 10
        world.chain.mine()
        await world.close_slots()
        assert (world.paid_amount(1), await world.intent_states()) == (PAYOUT, ["broadcast"])

        world.chain.reorg(1)
        world.chain.pool = {cancel.transaction_hash: cancel}
        world.chain.mine(4)
        await world.close_slots()
        assert (world.paid_amount(1), await world.intent_states()) == (0, ["reserved"])
        await world.send_everything()
        world.chain.mine()

        assert world.paid_amount(1) == PAYOUT

    @pytest.mark.fault("S18")
    async def test_s18_is_not_final_while_a_node_reported_the_payment(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await stuck(world)
        await replaced(world, dwell=timedelta(0))
        world.chain.mine(4)
        payment, cancel = await world.rows(ATTEMPTS)
        of_one = world.reader.receipts_of_each_node

        async def of_two(hashes: Collection[str]) -> Mapping[str, Sequence[NodeReceipt]]:
            results = await of_one(hashes)
            receipt = results[cancel.transaction_hash][0].receipt
            rival = NodeReceipt("1:other", has_answered=True, receipt=receipt)
            return {**results, payment.transaction_hash: (rival,)}

        monkeypatch.setattr(world.reader, "receipts_of_each_node", of_two)
        await world.close_slots()
        assert await world.intent_states() == ["broadcast"]

        monkeypatch.undo()
        await world.close_slots()
        assert await world.intent_states() == ["reserved"]


class TestAPaymentForADepositThatAReorgTook:
    async def test_is_cancelled_in_its_slot_at_once(self, world: World) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()
        await world.settle(a_deposit(1, version=3, state="reverted"))

        assert await world.replacing(after=timedelta(hours=1))(epoch=world.epoch) == 1
        world.chain.mine(4)
        await world.close_slots()

        assert world.paid_amount(1) == 0
        assert await world.intent_states() == ["dead"]
        assert await world.rows("SELECT status FROM swap") == [("user_transfer_pending",)]

    async def test_takes_its_neighbours_along_and_they_are_paid_in_another_slot(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(2)
        await world.send_everything()
        await world.settle(a_deposit(1, version=3, state="reverted"))
        await world.replacing()(epoch=world.epoch)
        world.chain.mine(4)
        await world.close_slots()

        await world.send_everything()
        world.chain.mine()

        assert [world.paid_amount(n) for n in (1, 2)] == [0, PAYOUT]


class TestAGap:
    @pytest.mark.fault("S10")
    async def test_s10_of_a_dropped_lower_nonce_is_closed_by_the_same_bytes(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()
        await world.confirmed_swaps(1, first=2)
        await world.send_everything()
        lower = min(world.chain.pool.values(), key=lambda t: t.nonce)
        world.chain.drop(lower.transaction_hash)
        world.chain.mine()
        assert world.chain.world.balances.get((a_recipient(2), NATIVE), 0) == 0

        await world.rebroadcast()
        world.chain.mine()

        assert [world.paid_amount(n) for n in (1, 2)] == [PAYOUT] * 2
