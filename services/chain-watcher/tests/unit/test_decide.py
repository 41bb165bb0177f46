"""The messages that a fact about a chain causes."""

from __future__ import annotations

from typing import Any

import pytest
from watch_factories import (
    DEPOSIT_ADDRESS,
    DEPOSITORY,
    FOREIGN_TOKEN,
    FUNDER,
    NETWORK,
    SMALL_TIER_BELOW,
    TREASURY,
    UNKNOWN_ADDRESS,
    USER,
    Watcher,
    a_block,
    a_deposit,
    a_log,
    a_native_receipt,
    a_payout,
    a_policy,
    a_sweep,
    a_transfer,
    a_withdrawal,
)

from swap_chain_watcher.domain.movements import Depth, Kind, Quarantine, State, movement_id
from swap_chain_watcher.domain.watch import BrokenChain
from swap_chains.errors import ReorgBeyondFinality
from swap_chains.events import BlockAdded, BlocksFinalized, BlocksReverted
from swap_domain.catalogue import NATIVE


class TestDepth:
    @pytest.mark.parametrize(
        ("confirmations", "head", "reached"),
        [(1, 5, True), (2, 5, False), (2, 6, True), (3, 6, False)],
    )
    def test_counts_the_block_itself(self, confirmations: int, head: int, reached: bool) -> None:
        depth = Depth(confirmations, is_finality=False)

        assert depth.is_reached(5, head=head, finalized=0) is reached

    @pytest.mark.parametrize(("finalized", "reached"), [(4, False), (5, True), (6, True)])
    def test_finality_uses_the_finalized_block_of_the_chain(
        self, finalized: int, reached: bool
    ) -> None:
        depth = Depth(1, is_finality=True)

        assert depth.is_reached(5, head=100, finalized=finalized) is reached

    def test_finality_is_stricter_than_any_number(self) -> None:
        shallow, final = Depth(50, is_finality=False), Depth(2, is_finality=True)

        assert shallow.strictest(final) == final.strictest(shallow) == final


class TestDeposits:
    def test_are_seen_at_once_and_confirmed_at_their_depth(self) -> None:
        watcher = Watcher()

        watcher.mines(a_deposit("one"))
        assert watcher.published_versions() == [("seen", 1)]

        watcher.mines()
        assert watcher.published_versions() == [("seen", 1), ("confirmed", 2)]

    def test_two_for_one_swap_are_both_seen_before_either_is_confirmed(self) -> None:
        watcher = Watcher(policy=a_policy(small_tier=1))

        watcher.mines(a_deposit("one"), a_deposit("two"))

        assert [state for state, _ in watcher.published_versions()] == ["seen"] * 2 + [
            "confirmed"
        ] * 2

    def test_are_only_confirmed_when_one_block_is_enough(self) -> None:
        watcher = Watcher(policy=a_policy(small_tier=1))

        step = watcher.mines(a_deposit("one"))

        assert watcher.published_versions() == [("confirmed", 2)]
        assert [tracked.state for tracked in step.new_movements] == [State.CONFIRMED]

    def test_carry_the_sequence_number_of_their_key(self) -> None:
        watcher = Watcher()

        watcher.mines(a_deposit("ours"), a_deposit("huge", swap_key=f"0x{2**53:064x}"))

        assert [tracked.movement.sequence_number for tracked in watcher.publications] == [7, None]

    def test_wait_for_finality_above_the_tier_and_show_how_long_that_takes(self) -> None:
        watcher = Watcher()

        watcher.mines(a_deposit("large", SMALL_TIER_BELOW))
        for _ in range(5):
            watcher.mines()
        assert watcher.published_versions() == [("seen", 1)]
        assert watcher.publications[0].depth == Depth(4, is_finality=True, providers=1)

        watcher.finalizes(1)
        assert watcher.published_versions() == [("seen", 1), ("confirmed", 2)]

    def test_count_together_until_they_are_final(self) -> None:
        watcher = Watcher()
        half = SMALL_TIER_BELOW // 2

        watcher.mines(a_deposit("first", half), a_deposit("second", half))
        watcher.mines()
        assert [
            tracked.depth and tracked.depth.is_finality for tracked in watcher.publications[:2]
        ] == [
            False,
            True,
        ]

        watcher.finalizes(2)
        watcher.mines(a_deposit("third", half))
        assert watcher.publications[-1].depth == Depth(2, is_finality=False, providers=1)

    def test_count_with_their_amounts_only(self) -> None:
        watcher = Watcher()
        half = SMALL_TIER_BELOW // 2

        watcher.mines(a_deposit("first", half), a_deposit("second", half - 1))
        watcher.mines(a_deposit("third", 1))

        assert [t.depth and t.depth.is_finality for t in watcher.publications[:3]] == [
            False,
            False,
            True,
        ]

    def test_do_not_count_when_their_own_block_is_final_by_the_end_of_the_batch(self) -> None:
        watcher = Watcher()
        half, blocks = SMALL_TIER_BELOW // 2, [a_block(1), a_block(2)]

        watcher.receives(
            BlockAdded(blocks[0], (a_deposit("first", half),)),
            BlockAdded(blocks[1], (a_deposit("second", half),)),
            BlocksFinalized(blocks[0]),
        )

        assert [t.depth and t.depth.is_finality for t in watcher.publications] == [False] * 3

    def test_are_stored_as_new_once_and_as_changed_after_that(self) -> None:
        watcher = Watcher()
        watcher.mines(a_deposit("one"))

        step = watcher.mines()

        assert (step.new_movements, step.changed_movements) == ((), step.publications)

    def test_count_by_token(self) -> None:
        watcher = Watcher()
        almost = SMALL_TIER_BELOW - 1

        watcher.mines(a_deposit("tokens", almost), a_native_receipt("coins", almost))

        assert [t.depth for t in watcher.publications] == [
            Depth(2, is_finality=False, providers=1)
        ] * 2

    def test_do_not_count_when_they_are_final_by_the_end_of_their_batch(self) -> None:
        watcher = Watcher()
        half, blocks = SMALL_TIER_BELOW // 2, [a_block(1), a_block(2)]

        watcher.receives(
            BlockAdded(blocks[0], (a_deposit("first", half),)),
            BlockAdded(blocks[1], (a_deposit("second", half),)),
            BlocksFinalized(blocks[1]),
        )

        assert [t.depth and t.depth.confirmations for t in watcher.publications] == [2, 2, 2]

    def test_of_a_funder_do_not_count_for_those_of_users(self) -> None:
        watcher = Watcher()

        watcher.mines(a_transfer("funding", 10 * SMALL_TIER_BELOW, from_address=FUNDER))
        watcher.mines(a_deposit("user's", 1))

        assert watcher.publications[-1].depth == Depth(2, is_finality=False, providers=1)

    def test_are_the_same_wherever_they_are_mined(self) -> None:
        assert movement_id(NETWORK, a_log("one")) == movement_id(NETWORK, a_log("one"))
        assert movement_id(NETWORK, a_log("one")) != movement_id("BASE_DEVNET", a_log("one"))
        assert movement_id(NETWORK, a_log("one", 0)) != movement_id(NETWORK, a_log("one", 1))


class TestReceipts:
    def test_that_the_depository_explains_are_stored_and_not_published(self) -> None:
        watcher = Watcher()
        deposit = a_deposit("deposit")

        step = watcher.mines(a_transfer("receipt", claimed_by=deposit.id), deposit)

        assert [t.movement.kind.value for t in watcher.publications] == ["deposited"]
        receipt = step.new_movements[0]
        assert receipt.movement.claimed_by == movement_id(NETWORK, deposit.id)
        assert (receipt.state, receipt.version) == (None, 0)

    @pytest.mark.parametrize("sender", [TREASURY, DEPOSITORY, DEPOSIT_ADDRESS])
    def test_from_the_services_addresses_are_stored_and_not_published(self, sender: str) -> None:
        watcher = Watcher()
        block = a_block(1)

        step = watcher.receives(
            BlockAdded(block, (a_transfer("sweep", from_address=sender),)),
            targets=[DEPOSIT_ADDRESS.lower()],
        )

        assert not watcher.publications
        assert step.new_movements[0].movement.is_internal

    def test_without_a_claim_are_published_with_their_memo(self) -> None:
        watcher = Watcher()

        watcher.mines(a_transfer("memo", memo=b"\x01\x02"), a_native_receipt("plain"))

        assert [(t.movement.kind.value, t.movement.memo) for t in watcher.publications] == [
            ("token_transfer", "0x0102"),
            ("native_received", None),
        ]
        assert watcher.publications[1].movement.token == NATIVE

    def test_with_call_data_too_long_for_a_memo_are_published_without_it(self) -> None:
        watcher = Watcher()

        watcher.mines(a_native_receipt("long", memo=b"x" * 65))

        assert watcher.publications[0].movement.memo is None

    def test_of_zero_are_ignored(self) -> None:
        watcher = Watcher()

        step = watcher.mines(a_transfer("empty", 0), a_native_receipt("empty too", 0))

        assert not step.new_movements

    def test_that_the_treasury_pays_to_a_deposit_address_are_deposits_there(self) -> None:
        watcher = Watcher()

        watcher.mines(a_transfer("paid on", from_address=TREASURY, to_address=DEPOSIT_ADDRESS))

        assert not watcher.publications[0].movement.is_internal

    @pytest.mark.fault("W17")
    def test_w17_that_are_sweeps_are_published_as_such_and_final_with_the_chain(self) -> None:
        watcher = Watcher()
        receipt = a_transfer("swept", from_address=DEPOSIT_ADDRESS, claimed_by=a_log("sweep"))

        step = watcher.mines(receipt, a_sweep("sweep"))
        watcher.mines()
        watcher.mines()
        assert watcher.published_versions() == [("seen", 1)]
        watcher.finalizes(1)

        assert watcher.published_versions() == [("seen", 1), ("confirmed", 2)]
        movement = watcher.publications[0].movement
        assert (movement.kind, movement.is_internal) == (Kind.SWEPT, True)
        assert (movement.from_address, movement.to_address) == (DEPOSIT_ADDRESS, TREASURY)
        assert [t.movement.is_published for t in step.new_movements] == [False, True]

    def test_that_are_sweeps_of_a_token_with_false_logs_are_ignored(self) -> None:
        watcher = Watcher()

        step = watcher.mines(a_sweep("forged", 2**256 - 1, token=FOREIGN_TOKEN))
        watcher.finalizes(1)

        assert not step.new_movements
        assert watcher.published_versions() == []

    def test_of_the_owner_are_published_and_final_with_the_chain(self) -> None:
        watcher = Watcher()

        watcher.mines(a_withdrawal("out", base_units=SMALL_TIER_BELOW))
        watcher.mines()
        watcher.mines()
        assert watcher.published_versions() == [("seen", 1)]
        watcher.finalizes(1)

        assert watcher.published_versions() == [("seen", 1), ("confirmed", 2)]
        movement = watcher.publications[0].movement
        assert (movement.kind, movement.is_internal) == (Kind.WITHDRAWN, True)
        assert (movement.from_address, movement.to_address) == (TREASURY, USER)

    def test_that_are_sweeps_do_not_count_for_deposits(self) -> None:
        watcher = Watcher()

        watcher.mines(a_sweep("sweep", base_units=SMALL_TIER_BELOW), a_deposit("one"))

        depth = watcher.publications[1].depth
        assert depth is not None
        assert not depth.is_finality


class TestQuarantine:
    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"token": FOREIGN_TOKEN}, Quarantine.UNKNOWN_TOKEN),
            ({"receiver": UNKNOWN_ADDRESS}, Quarantine.FOREIGN_RECEIVER),
            ({"receiver": TREASURY.lower()}, None),
        ],
    )
    def test_gives_the_reason(self, changes: dict[str, Any], reason: Quarantine | None) -> None:
        watcher = Watcher()

        watcher.mines(a_deposit("one", **changes))

        assert [t.movement.quarantine for t in watcher.publications] == [reason]

    def test_does_not_count_for_other_deposits(self) -> None:
        watcher = Watcher()

        watcher.mines(
            a_deposit("theirs", SMALL_TIER_BELOW, receiver=UNKNOWN_ADDRESS), a_deposit("ours", 1)
        )

        assert watcher.publications[1].depth == Depth(2, is_finality=False, providers=1)


class TestPayouts:
    def test_are_confirmed_at_the_network_s_depth(self) -> None:
        watcher = Watcher(policy=a_policy(payout_confirmations=1))

        watcher.mines(a_payout("one"))

        assert watcher.published_versions() == [("confirmed", 2)]

    def test_wait_for_finality_on_such_a_network(self) -> None:
        watcher = Watcher(policy=a_policy(payout_confirmations=None))

        watcher.mines(a_payout("one"))
        watcher.mines()
        assert watcher.published_versions() == [("seen", 1)]

        watcher.finalizes(1)
        assert watcher.published_versions() == [("seen", 1), ("confirmed", 2)]

    def test_of_one_intent_count_on_whichever_transaction_pays_it(self) -> None:
        watcher = Watcher()

        watcher.mines(a_payout("first attempt", 99))
        watcher.reverts_to(0)
        watcher.mines(a_payout("second attempt", 99), branch="b")

        assert watcher.published_versions() == [("seen", 1), ("reverted", 2), ("seen", 3)]
        assert len({t.movement.id for t in watcher.publications}) == 2


class TestReorgs:
    def test_take_back_what_was_seen(self) -> None:
        watcher = Watcher()

        watcher.mines(a_deposit("one"))
        step = watcher.reverts_to(0)

        assert watcher.published_versions() == [("seen", 1), ("reverted", 2)]
        assert [block.number for block in step.orphaned_blocks] == [1]
        assert not watcher.watch.open

    def test_take_back_what_was_confirmed(self) -> None:
        watcher = Watcher()

        watcher.mines(a_deposit("one"))
        watcher.mines()
        watcher.reverts_to(0)

        assert watcher.published_versions() == [("seen", 1), ("confirmed", 2), ("reverted", 3)]

    def test_do_not_revert_earlier_blocks(self) -> None:
        watcher = Watcher()

        watcher.mines(a_deposit("one"))
        watcher.mines(a_deposit("two"))
        watcher.reverts_to(1)

        assert [(t.movement.id, t.state) for t in watcher.publications[-1:]] == [
            (movement_id(NETWORK, a_log("two")), State.REVERTED)
        ]
        assert watcher.watch.cursor == a_block(1)

    def test_that_mine_a_deposit_again_make_it_seen_again(self) -> None:
        watcher = Watcher()

        watcher.mines(a_deposit("one"))
        watcher.reverts_to(0)
        watcher.mines(branch="b")
        watcher.mines(a_deposit("one"), branch="b")
        watcher.mines(branch="b")

        assert watcher.published_versions() == [
            ("seen", 1),
            ("reverted", 2),
            ("seen", 3),
            ("confirmed", 4),
        ]
        assert len({t.movement.id for t in watcher.publications}) == 1
        assert watcher.publications[-1].movement.block.number == 2

    def test_in_one_batch_publish_in_order(self) -> None:
        watcher = Watcher()
        lost, found = a_block(1), a_block(1, branch="b", parent=a_block(0))

        step = watcher.receives(
            BlockAdded(lost, (a_deposit("one"),)),
            BlocksReverted(a_block(0), (lost,)),
            BlockAdded(found, (a_deposit("one"),)),
        )

        assert watcher.published_versions() == [("seen", 1), ("reverted", 2), ("seen", 3)]
        assert step.added_blocks == (found,)
        assert step.orphaned_blocks == (lost,)

    def test_raise_the_depth_of_what_is_mined_again_and_never_lower_it(self) -> None:
        watcher = Watcher()

        watcher.mines(a_deposit("large", SMALL_TIER_BELOW - 1), a_deposit("late", 1))
        watcher.reverts_to(0)
        watcher.mines(a_deposit("late", 1), branch="b")
        watcher.mines(a_deposit("large", SMALL_TIER_BELOW - 1), branch="b")

        seen = [t for t in watcher.publications if t.state is State.SEEN]
        assert [t.depth and t.depth.is_finality for t in seen] == [False, True, True, True]

    def test_charge_the_weight_of_a_disconnected_request(self) -> None:
        watcher = Watcher()
        watcher.mines(a_deposit("gone", SMALL_TIER_BELOW - 1))

        watcher.receives(
            BlocksReverted(a_block(0), (a_block(1),)),
            BlockAdded(
                a_block(1, branch="b", parent=a_block(0)),
                (a_deposit("new", SMALL_TIER_BELOW - 1),),
            ),
        )

        assert watcher.publications[-1].depth == Depth(2, is_finality=False, providers=1)

    def test_of_the_same_height_are_distinguished_by_the_hash(self) -> None:
        watcher = Watcher()

        watcher.mines(a_deposit("one"))
        watcher.receives(
            BlocksReverted(a_block(0), (a_block(1),)),
            BlockAdded(a_block(1, branch="b", parent=a_block(0)), ()),
        )

        assert watcher.published_versions() == [("seen", 1), ("reverted", 2)]
        assert watcher.watch.cursor.number == 1

    def test_below_what_is_final_are_refused(self) -> None:
        watcher = Watcher()
        for _ in range(3):
            watcher.mines()
        watcher.finalizes(2)

        with pytest.raises(ReorgBeyondFinality):
            watcher.receives(BlocksReverted(a_block(1), (a_block(2), a_block(3))))

    def test_to_an_unknown_block_are_refused(self) -> None:
        watcher = Watcher()
        watcher.mines()

        with pytest.raises(BrokenChain):
            watcher.receives(BlocksReverted(a_block(0, branch="b"), (a_block(1),)))


class TestBlocks:
    def test_delivered_twice_have_no_second_effect(self) -> None:
        watcher = Watcher()
        event = BlockAdded(a_block(1), (a_deposit("one"),))

        watcher.receives(event)
        step = watcher.receives(event)

        assert watcher.published_versions() == [("seen", 1)]
        assert (step.added_blocks, step.new_movements, step.publications) == ((), (), ())
        assert not watcher.watch.has_new_events([event])

    def test_without_their_parent_are_refused(self) -> None:
        with pytest.raises(BrokenChain):
            Watcher().receives(BlockAdded(a_block(1, branch="b"), ()))

    def test_of_a_known_number_are_refused(self) -> None:
        watcher = Watcher()
        watcher.mines()

        with pytest.raises(BrokenChain):
            watcher.receives(BlockAdded(a_block(1, branch="b", parent=a_block(0)), ()))

    def test_behind_a_gap_restart_the_known_chain(self) -> None:
        watcher = Watcher()

        watcher.receives(BlockAdded(a_block(50), ()), BlocksFinalized(a_block(50)))

        assert (watcher.watch.start_number, watcher.watch.finalized_number) == (50, 50)

    def test_that_are_final_and_published_leave_no_open_movements(self) -> None:
        watcher = Watcher(policy=a_policy(small_tier=1))

        watcher.mines(a_deposit("one"))
        assert watcher.watch.open

        watcher.finalizes(1)
        assert not watcher.watch.open
        assert watcher.watch.recent == (a_block(1),)

    def test_called_final_under_another_hash_are_refused(self) -> None:
        watcher = Watcher()
        watcher.mines()

        with pytest.raises(BrokenChain):
            watcher.receives(BlocksFinalized(a_block(1, branch="b")))
