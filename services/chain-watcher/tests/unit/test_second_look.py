"""Movements that a second look at final blocks adds, and contradictions that stop it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from watch_factories import (
    DEPOSIT_ADDRESS,
    FOREIGN_TOKEN,
    NETWORK,
    a_block,
    a_deposit,
    a_log,
    a_native_receipt,
    a_payout,
    a_policy,
    a_transfer,
)

from swap_chain_watcher.domain.movement_mapping import to_movement
from swap_chain_watcher.domain.movements import (
    Depth,
    Movement,
    PublishedVersion,
    Subject,
    movement_id,
)
from swap_chain_watcher.domain.second_look import (
    MissedMovements,
    MovementsDenied,
    StoredMovements,
    decide_missed,
    is_reported_alike,
)
from swap_chain_watcher.domain.watch import BrokenChain
from swap_chains import events
from swap_chains.events import Block, BlockAdded

BLOCK = a_block(5)


def missed(
    *movements: events.Movement,
    stored: StoredMovements | None = None,
    known: dict[Subject, PublishedVersion] | None = None,
    watched: Sequence[str] = (),
) -> MissedMovements:
    return decide_missed(
        NETWORK,
        [BlockAdded(BLOCK, movements)],
        stored=stored or StoredMovements(frozenset(), {}),
        policy=a_policy(),
        known=known or {},
        watched=watched,
    )


def published_states(found: MissedMovements) -> list[tuple[str, int]]:
    return [
        (tracked.state.value, tracked.version) for tracked in found.publications if tracked.state
    ]


def test_confirms_what_it_finds_with_its_block() -> None:
    found = missed(a_deposit("one"))

    assert published_states(found) == [("seen", 1), ("confirmed", 2)]
    assert found.blocks == (BLOCK,)
    assert [tracked.version for tracked in found.new_movements] == [2]


def test_stored_movement_is_not_missed() -> None:
    stored = StoredMovements(frozenset({movement_id(NETWORK, a_log("one"))}), {5: BLOCK.hash})

    assert missed(a_deposit("one"), stored=stored) == MissedMovements((), (), ())


def test_stores_claimed_receipts_without_a_message() -> None:
    found = missed(a_transfer("receipt", claimed_by=a_log("deposit")))

    assert (found.publications, len(found.new_movements)) == ((), 1)


def test_missed_payout_continues_the_versions_of_its_intent() -> None:
    found = missed(
        a_payout("again", 99), known={99: PublishedVersion(2, Depth(1, is_finality=False))}
    )

    assert published_states(found) == [("seen", 3), ("confirmed", 4)]


def test_report_of_a_different_final_block_is_refused() -> None:
    with pytest.raises(BrokenChain):
        missed(
            a_deposit("one"), stored=StoredMovements(frozenset(), {5: a_block(5, branch="b").hash})
        )


def published(fact: events.Movement, block: Block = BLOCK) -> Movement:
    movement = to_movement(block, fact, a_policy(), ())
    assert movement is not None
    return movement


def stored_as_published(*movements: Movement) -> StoredMovements:
    return StoredMovements(
        frozenset(movement.id for movement in movements),
        {movement.block.number: movement.block.hash for movement in movements},
        movements,
    )


@pytest.mark.parametrize(
    "fact",
    [a_deposit("gone"), a_transfer("gone"), a_native_receipt("gone"), a_payout("gone")],
    ids=lambda fact: type(fact).__name__,
)
def test_published_movement_that_is_absent_is_denied(fact: events.Movement) -> None:
    stored = stored_as_published(published(a_deposit("one")), published(fact))

    with pytest.raises(MovementsDenied, match=a_log("gone").transaction_hash) as denied:
        missed(a_deposit("one"), stored=stored)

    assert [movement.id for movement in denied.value.denied] == [
        movement_id(NETWORK, a_log("gone"))
    ]


def test_error_names_the_denied_log_and_its_reporter() -> None:
    block = replace(BLOCK, provider="first")
    movement = published(a_deposit("gone"), block)

    error = MovementsDenied(NETWORK, [movement, movement])

    assert str(error) == (
        f"{NETWORK}: final blocks, read a second time, lack 2 of the movements that were "
        f"published, first deposited of transaction {a_log('gone').transaction_hash} in block 5, "
        "reported by first: a node invents or hides logs"
    )


def test_absent_transfer_is_denied_only_at_a_watched_address() -> None:
    stored = stored_as_published(published(a_transfer("gone", to_address=DEPOSIT_ADDRESS)))

    assert missed(stored=stored) == MissedMovements((), (), ())
    with pytest.raises(MovementsDenied):
        missed(stored=stored, watched=[DEPOSIT_ADDRESS.lower()])


def test_block_without_missed_movements_is_not_stored() -> None:
    assert missed().blocks == ()


def test_movement_is_reported_alike_only_with_the_same_value_and_block() -> None:
    movement = published(a_deposit("one"))

    assert is_reported_alike(movement, movement)
    assert not is_reported_alike(movement, replace(movement, base_units=11))
    assert not is_reported_alike(movement, replace(movement, block=a_block(5, branch="b")))


def test_movement_in_another_block_than_published_is_denied() -> None:
    elsewhere = stored_as_published(published(a_deposit("one"), a_block(4)))

    with pytest.raises(MovementsDenied):
        missed(a_deposit("one"), stored=elsewhere)


def test_movement_published_of_a_later_block_is_denied() -> None:
    """The later block is not final yet, and the true one would not be read a third time."""
    elsewhere = (published(a_deposit("one"), a_block(9)),)

    with pytest.raises(MovementsDenied, match="in block 9"):
        missed(a_deposit("one"), stored=StoredMovements(frozenset(), {}, in_other_blocks=elsewhere))


def test_recognizes_a_receipt_that_another_log_explains() -> None:
    stored = stored_as_published(published(a_transfer("receipt")))
    receipt = a_transfer("receipt", claimed_by=a_log("deposit"))

    assert missed(receipt, stored=stored) == MissedMovements((), (), ())


def test_published_receipt_that_another_log_explains_is_denied() -> None:
    """Its deposit was hidden, so both would be credited."""
    receipt = published(a_transfer("receipt"))
    stored = replace(stored_as_published(receipt), deposits=frozenset({receipt.key}))
    claimed = a_transfer("receipt", claimed_by=a_log("deposit"))

    with pytest.raises(MovementsDenied, match=a_log("receipt").transaction_hash):
        missed(claimed, a_deposit("deposit"), stored=stored)


def test_movement_of_a_former_token_is_not_denied() -> None:
    former = replace(published(a_transfer("former")), token=FOREIGN_TOKEN)

    assert missed(stored=stored_as_published(former)) == MissedMovements((), (), ())
