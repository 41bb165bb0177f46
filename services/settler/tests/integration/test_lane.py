"""The sender lane on a real Postgres and a chain in memory: one payment each, despite crashes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.lane_harness import (
    DEPOSITORY,
    DESTINATION,
    PAYOUT,
    REQUESTED,
    SIGNER,
    SOURCE,
    World,
    a_deposit,
    a_funding,
    a_recipient,
    expect_wrong_nonces,
)
from swap_chains.errors import ChainUnavailable
from swap_chains.fake.chain import NODE
from swap_chains.ports import NodeReceipt
from swap_domain.catalogue import NATIVE
from swap_runtime.postgres.leases import Lease, LeaseLost
from swap_runtime.postgres.sql import sql
from swap_settler.model import observe_changes
from swap_settler.paying.store.lane_store import LaneName, PostgresLaneStore
from swap_settler.paying.usecases import send_payouts
from swap_settler.paying.usecases.slot_transactions import SlotTransactions
from tests.support.crashes import ProcessKilled, killed_at, killed_before

pytestmark = pytest.mark.connected
COMMITTED = "changes_committed"


@pytest.fixture
async def world(migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_world(migrate_schema("settler"), DESTINATION) as world:
        world.engine.statement_listener = world.statements.append
        yield world


def sending_killed_at(monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    killed_at(monkeypatch, point, send_payouts)
    if point in ("settler.after_slot", "settler.after_sign_anew"):
        expect_wrong_nonces(monkeypatch)


class TestACrash:
    @pytest.mark.parametrize(
        "point",
        [
            pytest.param("settler.after_slot", id="S2"),
            pytest.param("settler.after_sign", id="S3"),
            pytest.param("settler.after_sign_anew", id="S3-on-other-nonces"),
            pytest.param("settler.before_send", id="S4"),
            pytest.param("settler.after_send", id="S5"),
        ],
    )
    @pytest.mark.fault("S2", "S3", "S4", "S5")
    async def test_ends_in_one_payment_on_one_slot(
        self, world: World, monkeypatch: pytest.MonkeyPatch, point: str
    ) -> None:
        await world.confirmed_swaps(3)
        sending_killed_at(monkeypatch, point)
        with pytest.raises(ProcessKilled):
            await world.send_everything()

        await world.send_everything()
        await world.rebroadcast()
        world.chain.mine()

        assert [world.paid_amount(n) for n in (1, 2, 3)] == [PAYOUT] * 3
        assert [r.nonce for r in await world.rows("SELECT nonce FROM nonce_slot")] == [0]
        assert len(await world.rows("SELECT 1 FROM attempt")) == 1
        assert await world.intent_states() == ["broadcast"] * 3

    @pytest.mark.parametrize(
        "point",
        [(PostgresLaneStore, "due"), (SlotTransactions, "sign"), (observe_changes, COMMITTED)],
        ids=["before-it-is-read", "before-it-is-signed", "after-the-commit"],
    )
    @pytest.mark.fault("S1")
    async def test_before_any_slot_leaves_the_intent_to_the_next_lane_s1(
        self, world: World, monkeypatch: pytest.MonkeyPatch, point: tuple[object, str]
    ) -> None:
        await world.request_swap(1)
        killed_before(monkeypatch, *point)

        async def pay() -> None:
            await world.settle(a_funding(10**24), a_deposit(1))
            await world.send_everything()

        with pytest.raises(ProcessKilled):
            await pay()
        assert await world.intent_states() == ["reserved"]
        assert await world.rows("SELECT 1 FROM nonce_slot UNION ALL SELECT 1 FROM attempt") == []

        for _ in range(2):
            await world.send_everything()
            await world.rebroadcast()
            world.chain.mine()

        assert world.paid_amount(1) == PAYOUT
        assert await world.rows("SELECT nonce FROM nonce_slot") == [(0,)]
        assert await world.rows("SELECT count(*) FROM attempt") == [(1,)]

    async def test_of_every_node_is_outlived_by_the_stored_bytes(self, world: World) -> None:
        await world.confirmed_swaps(1)
        send = world.new_process()

        original = world.sender.broadcast

        async def unavailable(*_: object) -> Any:
            raise ChainUnavailable(DESTINATION)

        world.sender.broadcast = unavailable  # type: ignore[method-assign]
        await send(epoch=world.epoch)
        world.sender.broadcast = original  # type: ignore[method-assign]
        assert await world.intent_states() == ["assigned"]

        await world.rebroadcast()
        world.chain.mine()

        assert world.paid_amount(1) == PAYOUT
        assert await world.intent_states() == ["broadcast"]


class TestAnOldHolder:
    @pytest.mark.fault("S8")
    async def test_cannot_store_what_it_signed_s8(self, world: World) -> None:
        await world.confirmed_swaps(1)
        lane = LaneName(DESTINATION, SIGNER).lease
        async with world.engine.begin() as connection:
            await connection.execute(
                sql("UPDATE lease SET expires_at = '-infinity' WHERE name = :n"), {"n": lane}
            )
        await Lease(world.engine, lane, holder="another").acquire()

        with pytest.raises(LeaseLost):
            await world.new_process()(epoch=world.epoch)

        assert await world.rows("SELECT 1 FROM attempt") == []


class TestABatch:
    async def test_of_two_hundred_payouts_is_a_few_transactions_statements_and_round_trips(
        self, world: World, round_trips: list[int]
    ) -> None:
        await world.confirmed_swaps(200)
        send = world.new_process()
        world.statements.clear()
        round_trips.clear()

        sent = await send(epoch=world.epoch)
        statements, waited = len(world.statements), len(round_trips)
        world.chain.mine()

        assert sent == 4
        assert statements < 40
        assert waited <= 10  # one of them during the requests to the chain
        assert sum(world.paid_amount(n) for n in range(1, 201)) == 200 * PAYOUT

    async def test_excludes_coins_for_a_contract_which_are_sent_separately(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(3)
        async with world.engine.begin() as connection:
            to_contract = "UPDATE intent SET to_address = :a WHERE to_address = :b"
            values = {"a": DEPOSITORY, "b": a_recipient(2)}
            await connection.execute(sql(to_contract), values)

        await world.send_everything()

        slots = "SELECT count(*) FROM slot_intent GROUP BY nonce ORDER BY 1"
        assert await world.rows(slots) == [(1,), (2,)]

    async def test_never_has_more_in_flight_than_a_public_node_keeps(self, world: World) -> None:
        await world.confirmed_swaps(20)
        async with world.engine.begin() as connection:
            await connection.execute(sql("UPDATE intent SET goes_alone = true"))

        await world.send_everything()
        assert len(world.chain.pool) == 16


class TestARecipientThatRefuses:
    @pytest.mark.fault("S22")
    async def test_s22_blocks_no_other_and_is_finally_abandoned(self, world: World) -> None:
        await world.confirmed_swaps(3)
        world.chain.refuse(a_recipient(2))
        counted = observe_changes.FAILURES.labels("destination_unavailable")._value
        before = counted.get()

        for _ in range(3):
            await world.send_everything()
        world.chain.mine()

        assert [world.paid_amount(n) for n in (1, 2, 3)] == [PAYOUT, 0, PAYOUT]
        failed = await world.rows("SELECT status, fail_reason FROM swap WHERE sequence_number = 2")
        assert failed == [("failed", "destination_unavailable")]
        assert counted.get() == before + 1
        claimable = "SELECT balance FROM account WHERE kind = 'claimable'"
        assert await world.rows(claimable) == [(-REQUESTED,)]
        owed = "SELECT sum(balance) FROM account WHERE kind IN ('swap_liability', 'in_flight')"
        assert await world.rows(owed) == [(-2 * PAYOUT,)]

    @pytest.mark.fault("S23")
    async def test_s23_after_it_was_tried_is_tried_again_only_when_the_slot_is_dead(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()
        world.chain.refuse(a_recipient(1))
        world.chain.mine()
        await world.close_slots()
        assert await world.intent_states() == ["broadcast"]

        world.chain.mine(2)
        await world.close_slots()
        assert await world.intent_states() == ["reserved"]

        world.chain.refuse(a_recipient(1), refuses=False)
        await world.send_everything()
        world.chain.mine()

        assert world.paid_amount(1) == PAYOUT
        assert [r.nonce for r in await world.rows("SELECT nonce FROM nonce_slot ORDER BY 1")] == [
            0,
            1,
        ]

    @pytest.mark.fault("R4")
    async def test_r4_whose_failure_a_reorg_makes_a_success_is_paid_once(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()
        [sent] = world.chain.pool.values()
        world.chain.refuse(a_recipient(1))
        world.chain.mine()
        await world.close_slots()
        assert (world.paid_amount(1), await world.intent_states()) == (0, ["broadcast"])

        world.chain.refuse(a_recipient(1), refuses=False)
        world.chain.reorg(1)
        world.chain.pool[sent.transaction_hash] = sent
        world.chain.mine(4)
        await world.close_slots()
        await world.send_everything()
        world.chain.mine()

        assert world.paid_amount(1) == PAYOUT
        assert [r.nonce for r in await world.rows("SELECT nonce FROM nonce_slot")] == [0]

    @pytest.mark.parametrize("reported", ["before", "after"])
    @pytest.mark.fault("R4")
    async def test_r4_that_succeeded_and_fails_after_a_reorg_is_retried(
        self, world: World, reported: str
    ) -> None:
        """The lane reads the chain itself, and may be ahead of the chain-watcher or behind it."""
        await world.confirmed_swaps(1)
        await world.send_everything()
        [sent] = world.chain.pool.values()
        world.chain.mine()
        if reported == "before":
            await world.payout("seen", version=1, transaction_hash=sent.transaction_hash)
        world.chain.reorg(1)
        world.chain.pool[sent.transaction_hash] = sent
        world.chain.refuse(a_recipient(1))
        world.chain.mine(4)
        await world.close_slots()
        if reported == "after":
            await world.payout("seen", version=1, transaction_hash=sent.transaction_hash)
        await world.payout("reverted", version=2, transaction_hash=sent.transaction_hash)

        assert await world.intent_states() == ["reserved"]
        world.chain.refuse(a_recipient(1), refuses=False)
        await world.rows("UPDATE intent SET due_at = now()")
        await world.send_everything()
        world.chain.mine()
        assert world.paid_amount(1) == PAYOUT


class TestADeathProof:
    async def test_has_the_consumer_of_each_nonce_and_the_reporting_nodes(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()
        world.chain.refuse(a_recipient(1))
        world.chain.mine(3)
        await world.close_slots()
        final = world.chain.blocks[world.chain.finalized_number]
        mined = world.chain.blocks[1]

        await world.send_everything()

        [(proof,)] = await world.rows("SELECT dead_proof FROM intent")
        [(sent,)] = await world.rows("SELECT transaction_hash FROM attempt")
        assert proof["because"].startswith("refused: execution reverted 0x")
        assert (proof["attempts"], proof["failures"]) == (1, 2)
        assert proof["slots"] == [
            {
                "signer": SIGNER,
                "nonce": 0,
                "attempts": [sent],
                "consumed_by": sent,
                "succeeded": False,
                "block_number": mined.number,
                "block_hash": mined.hash,
                "final_number": final.number,
                "final_hash": final.hash,
                "witnesses": {
                    "agree": [NODE],
                    "unknown": [],
                    "silent": [],
                    "deny": [],
                    "providers_agreeing": 1,
                    "providers_required": 1,
                },
            }
        ]

    async def test_covers_the_slot_that_was_proven_dead_last(self, world: World) -> None:
        await world.confirmed_swaps(1)
        for nonce in range(2):
            world.chain.refuse(a_recipient(1), refuses=False)
            await world.send_everything()
            world.chain.refuse(a_recipient(1))
            world.chain.mine(3)
            await world.close_slots()
            assert (await world.intent_states()) == [("reserved", "dead")[nonce]]

        [(proof,)] = await world.rows("SELECT dead_proof FROM intent")
        assert proof["because"] == "no transaction of its slot paid it"
        assert [slot["nonce"] for slot in proof["slots"]] == [0, 1]
        assert all(slot["succeeded"] is False for slot in proof["slots"])

    async def test_is_that_nothing_was_signed(self, world: World) -> None:
        await world.confirmed_swaps(1)

        await world.settle(a_deposit(1, version=3, state="reverted"))

        [(proof,)] = await world.rows("SELECT dead_proof FROM intent")
        assert (proof["attempts"], proof["slots"]) == (0, [])

    @pytest.mark.parametrize("has_answered", [True, False])
    @pytest.mark.fault("S12")
    async def test_s12_is_missing_while_only_one_of_two_providers_reports_it(
        self, world: World, monkeypatch: pytest.MonkeyPatch, *, has_answered: bool
    ) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()
        world.chain.refuse(a_recipient(1))
        world.chain.mine(3)
        of_one = world.reader.receipts_of_each_node

        async def of_two(hashes: Collection[str]) -> Mapping[str, Sequence[NodeReceipt]]:
            results = await of_one(hashes)
            other = NodeReceipt("1:other", has_answered, receipt=None)
            return {h: (*reports, other) for h, reports in results.items()}

        monkeypatch.setattr(world.reader, "receipts_of_each_node", of_two)
        await world.close_slots()
        assert await world.intent_states() == ["broadcast"]

    @pytest.mark.parametrize("succeeded", [True, False])
    @pytest.mark.fault("S12")
    async def test_s12_is_none_while_another_node_contradicts(
        self, world: World, monkeypatch: pytest.MonkeyPatch, *, succeeded: bool
    ) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()
        world.chain.refuse(a_recipient(1))
        world.chain.mine(3)
        of_one = world.reader.receipts_of_each_node

        async def of_two(hashes: Collection[str]) -> Mapping[str, Sequence[NodeReceipt]]:
            results = await of_one(hashes)
            return {h: (*words, _with_outcome(words[0], succeeded)) for h, words in results.items()}

        monkeypatch.setattr(world.reader, "receipts_of_each_node", of_two)
        await world.close_slots()
        assert await world.intent_states() == ["broadcast"]

        monkeypatch.undo()
        await world.close_slots()
        assert await world.intent_states() == ["reserved"]


def _with_outcome(report: NodeReceipt, succeeded: bool) -> NodeReceipt:
    """Return the report of another node: it succeeded, or failed in another block."""
    receipt = report.receipt
    assert receipt is not None
    block = receipt.block if succeeded else replace(receipt.block, hash="0x" + "ee" * 32)
    results = replace(receipt, succeeded=succeeded, block=block)
    return NodeReceipt("1:other", has_answered=True, receipt=results)


class TestAPaymentForADepositThatAReorgTook:
    async def test_is_not_tried_again(self, world: World) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()
        await world.settle(a_deposit(1, version=3, state="reverted"))
        world.chain.refuse(a_recipient(1))
        world.chain.mine(3)

        await world.close_slots()

        assert await world.intent_states() == ["dead"]
        assert await world.rows("SELECT status FROM swap") == [("user_transfer_pending",)]


class TestASlotThatLostItsPayments:
    async def test_is_filled_by_the_same_lane_too(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        expect_wrong_nonces(monkeypatch)
        await world.confirmed_swaps(1)
        send = world.new_process()
        keep = world.store.store_attempts

        async def after_a_reorg(*arguments: Any, **more: Any) -> Any:
            world.store.store_attempts = keep  # type: ignore[method-assign]
            await world.settle(a_deposit(1, version=3, state="reverted"))
            return await keep(*arguments, **more)

        world.store.store_attempts = after_a_reorg  # type: ignore[method-assign]
        await send(epoch=world.epoch)
        await send(epoch=world.epoch)

        cancels = await world.rows("SELECT nonce FROM attempt WHERE is_cancel")
        assert cancels == [(0,)]


class TestSlotsThatReverted:
    async def test_do_not_count_as_in_flight_until_they_are_final(self, world: World) -> None:
        await world.confirmed_swaps(17)
        async with world.engine.begin() as connection:
            await connection.execute(sql("UPDATE intent SET goes_alone = true"))
        await world.send_everything()
        for number in range(1, 18):
            world.chain.refuse(a_recipient(number))
        world.chain.mine()
        for number in range(1, 18):
            world.chain.refuse(a_recipient(number), refuses=False)

        sent = await world.new_process()(epoch=world.epoch)

        assert sent == 1


class TestAPaymentThatAnotherLaneSent:
    async def test_is_not_counted_as_failed(self, world: World) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()
        intents = {
            row.id: row.swap_id for row in await world.rows("SELECT id, swap_id FROM intent")
        }

        await world.abandon_payouts(
            intents, refusals=dict.fromkeys(intents, "no"), epoch=world.epoch
        )

        assert await world.rows("SELECT state, failures FROM intent") == [("broadcast", 0)]


class TestAnAbandonedPayment:
    @pytest.mark.breaks_invariants("I-32")  # the test itself empties the inventory
    async def test_leaves_its_swap_claimable_even_when_its_money_was_paid_out_since(
        self, world: World
    ) -> None:
        await world.confirmed_swaps(1)
        async with world.engine.begin() as connection:
            drained = "UPDATE inventory SET held_base_units = 0 WHERE network = :network"
            await connection.execute(sql(drained), {"network": SOURCE})
        world.chain.refuse(a_recipient(1))

        for _ in range(3):
            await world.send_everything()

        assert await world.rows("SELECT status FROM swap") == [("failed",)]


class TestAFinalPayment:
    async def test_that_the_chain_took_back_is_sent_again(self, world: World) -> None:
        await world.confirmed_swaps(1)
        await world.send_everything()
        world.chain.mine()
        attempt = (await world.rows("SELECT transaction_hash FROM attempt"))[0].transaction_hash
        await world.payout("confirmed", version=2, transaction_hash=attempt)
        await world.payout("reverted", version=3, transaction_hash=attempt)

        assert await world.intent_states() == ["confirmed"]
        assert await world.rebroadcast() == 1
        assert (await world.rows("SELECT halted_reason FROM signer"))[0].halted_reason


class TestAHaltedSigner:
    async def test_hands_out_no_nonce_for_what_it_signs(self, world: World) -> None:
        await world.confirmed_swaps(1)
        send = world.new_process()
        assign = world.store.assign

        async def after_a_halt(*arguments: Any, **more: Any) -> Any:
            await world.store.halt("a person must look")
            assert more["signed"]
            return await assign(*arguments, **more)

        world.store.assign = after_a_halt  # type: ignore[method-assign]

        assert await send(epoch=world.epoch) == 0
        assert await world.rows("SELECT 1 FROM nonce_slot UNION ALL SELECT 1 FROM attempt") == []

    async def test_stores_no_attempts_of_payments_it_signs(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        expect_wrong_nonces(monkeypatch)
        await world.confirmed_swaps(1)
        send = world.new_process()
        keep = world.store.store_attempts

        async def after_a_halt(*arguments: Any, **more: Any) -> Any:
            await world.store.halt("a person must look")
            return await keep(*arguments, **more)

        world.store.store_attempts = after_a_halt  # type: ignore[method-assign]

        assert await send(epoch=world.epoch) == 0
        assert await world.rows("SELECT 1 FROM attempt") == []


class TestAPause:
    async def test_of_the_treasury_queues_payouts_and_fails_none(self, world: World) -> None:
        await world.confirmed_swaps(1)
        world.chain.pause()

        for _ in range(5):
            await world.send_everything()

        assert await world.intent_states() == ["reserved"]
        assert await world.rows("SELECT failures FROM intent") == [(0,)]


class TestASlotWithoutPayments:
    async def test_is_filled_with_a_no_op_so_that_later_nonces_are_mined(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await world.confirmed_swaps(1)
        sending_killed_at(monkeypatch, "settler.after_slot")
        with pytest.raises(ProcessKilled):
            await world.send_everything()
        await world.settle(a_deposit(1, version=3, state="reverted"))
        await world.confirmed_swaps(1, first=2)

        await world.send_everything()
        world.chain.mine()

        assert [world.paid_amount(n) for n in (1, 2)] == [0, PAYOUT]
        assert await world.rows("SELECT nonce FROM attempt WHERE is_cancel") == [(0,)]


class TestGas:
    async def test_money_is_booked_as_the_owners_before_anything_was_sent(
        self, world: World
    ) -> None:
        world.chain.give(SIGNER, NATIVE, 10**18)
        world.chain.mine()

        await world.close_slots()

        signer = await world.rows("SELECT balance FROM account WHERE holder = 'signer'")
        assert signer == [(10**18,)]

    async def test_is_booked_once_per_slot_and_a_rise_is_the_owners(self, world: World) -> None:
        world.chain.give(SIGNER, NATIVE, 5 * 10**18)
        await world.confirmed_swaps(1)
        await world.send_everything()
        world.chain.mine(3)

        await world.close_slots()
        await world.close_slots()

        signer = await world.rows("SELECT balance FROM account WHERE holder = 'signer'")
        assert signer == [(world.chain.world.balances[SIGNER, NATIVE],)]
        closed = await world.rows("SELECT count(*) FROM nonce_slot WHERE closed_at IS NOT NULL")
        assert closed == [(1,)]
        kinds = await world.rows(
            "SELECT kind FROM ledger_transaction WHERE kind IN ('gas', 'topped_up') ORDER BY 1"
        )
        assert kinds == [("gas",), ("topped_up",)]
