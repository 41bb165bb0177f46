"""Movements found later in stored blocks, and blocks that do not connect."""

from __future__ import annotations

import pytest
from watch_factories import (
    NETWORK,
    SMALL_TIER_BELOW,
    USDC,
    Watcher,
    a_block,
    a_deposit,
    a_log,
    a_policy,
    a_policy_of_two,
)

from swap_chain_watcher.domain.decide import decide_found
from swap_chain_watcher.domain.evidence import Evidence
from swap_chain_watcher.domain.movement_mapping import to_movement
from swap_chain_watcher.domain.movements import (
    Depth,
    Movement,
    PublishedVersion,
    State,
    movement_id,
)
from swap_chain_watcher.domain.policy import Policy
from swap_chain_watcher.domain.watch import BrokenChain, ChainBehind, Step
from swap_chains.errors import ReorgBeyondFinality
from swap_chains.events import Block, BlockAdded, BlocksFinalized, BlocksReverted


def a_movement(block: Block, base_units: int = 10) -> Movement:
    movement = to_movement(block, a_deposit("one", base_units), a_policy(), ())
    assert movement is not None
    return movement


def three_blocks(policy: Policy | None = None) -> Watcher:
    """Return a watcher at block 3, with block 1 final."""
    watcher = Watcher(policy=policy or a_policy())
    for _ in range(3):
        watcher.mines()
    watcher.finalizes(1)
    return watcher


def found(
    watcher: Watcher,
    movement: Movement,
    *,
    evidence: Evidence | None = None,
    known: PublishedVersion | None = None,
) -> Step:
    return decide_found(
        watcher.watch,
        [movement],
        policy=watcher.policy,
        known={} if known is None else {movement.subject: known},
        evidence=evidence,
    )


class TestAFoundMovement:
    def test_of_a_block_that_can_change_is_published_as_any_other(self) -> None:
        step = found(three_blocks(), a_movement(a_block(3)))

        assert [tracked.state for tracked in step.publications] == [State.SEEN]
        assert step.added_blocks == ()  # its block is stored
        assert list(step.after.open) == [movement_id(NETWORK, a_log("one"))]

    @pytest.mark.parametrize("number", [0, 1])
    def test_of_a_final_block_brings_its_block(self, number: int) -> None:
        block = a_block(number)

        step = found(three_blocks(), a_movement(block))

        assert [tracked.state for tracked in step.publications] == [State.CONFIRMED]
        assert step.added_blocks == (block,)
        assert step.after.open == {}

    def test_of_a_final_block_that_was_skipped_is_accepted(self) -> None:
        watcher = Watcher()
        watcher.receives(BlockAdded(a_block(50), ()), BlocksFinalized(a_block(50)))

        assert found(watcher, a_movement(a_block(20))).added_blocks == (a_block(20),)

    @pytest.mark.parametrize("block", [a_block(1, branch="b"), a_block(3, branch="b"), a_block(4)])
    def test_of_a_block_that_is_not_followed_is_refused(self, block: Block) -> None:
        with pytest.raises(BrokenChain) as broken:
            found(three_blocks(), a_movement(block))

        words = f"{NETWORK}: block {block.number} is not one that is followed"
        assert str(broken.value) == words
        assert (broken.value.network, broken.value.what) == (NETWORK, words.partition(": ")[2])

    def test_counts_with_what_no_second_provider_has_verified(self) -> None:
        watcher = three_blocks(a_policy_of_two())
        evidence = Evidence(unverified_sums={USDC.lower(): SMALL_TIER_BELOW - 1})

        one, two = (
            found(watcher, a_movement(a_block(3))),
            found(watcher, a_movement(a_block(3)), evidence=evidence),
        )

        assert [tracked.state for tracked in one.publications] == [State.CONFIRMED]
        assert [tracked.state for tracked in two.publications] == [State.SEEN]

    def test_continues_its_published_versions(self) -> None:
        known = PublishedVersion(4, Depth(9, is_finality=False))

        step = found(three_blocks(), a_movement(a_block(3)), known=known)

        [publications] = step.publications
        assert (publications.version, publications.depth) == (
            5,
            Depth(9, is_finality=False, providers=1),
        )


class TestABlockThatDoesNotFit:
    @pytest.mark.parametrize(
        ("block", "words"),
        [
            (a_block(3, branch="b", parent=a_block(2)), "block 3 again, with another hash"),
            (a_block(2, branch="b", parent=a_block(1)), "block 2 again, with another hash"),
            (a_block(4, branch="b"), "block 4 does not follow its parent"),
        ],
    )
    def test_is_refused_with_its_number(self, block: Block, words: str) -> None:
        with pytest.raises(BrokenChain, match=f"^{NETWORK}: {words}$"):
            three_blocks().receives(BlockAdded(block, ()))

    def test_behind_a_gap_of_one_restarts_the_known_chain(self) -> None:
        watcher = three_blocks()

        watcher.receives(BlockAdded(a_block(5, branch="b"), ()))

        assert (watcher.watch.start_number, watcher.watch.cursor.number) == (5, 5)

    def test_called_final_under_another_hash_is_refused(self) -> None:
        with pytest.raises(BrokenChain, match=r"^.*: final block 2 is not the reported one$"):
            three_blocks().receives(BlocksFinalized(a_block(2, branch="b")))

    def test_of_a_reorg_to_an_unknown_ancestor_is_refused(self) -> None:
        with pytest.raises(BrokenChain, match=r"^.*: block 2 is no ancestor we know$"):
            three_blocks().receives(BlocksReverted(a_block(2, branch="b"), ()))

    def test_of_a_reorg_to_the_last_final_block_is_accepted_and_below_it_is_not(self) -> None:
        watcher = three_blocks()
        watcher.receives(BlocksReverted(a_block(1), (a_block(2), a_block(3))))

        assert watcher.watch.cursor == a_block(1)
        with pytest.raises(ReorgBeyondFinality):
            watcher.receives(BlocksReverted(a_block(0), (a_block(1),)))


class TestFinality:
    def test_is_never_beyond_the_head_and_never_decreases(self) -> None:
        watcher = three_blocks()

        watcher.receives(BlocksFinalized(a_block(9)))
        assert watcher.watch.finalized_number == 3

        watcher.receives(BlocksFinalized(a_block(2)))
        assert watcher.watch.finalized_number == 3

    def test_of_a_block_that_was_skipped_is_accepted(self) -> None:
        watcher = three_blocks()
        watcher.receives(BlockAdded(a_block(9), ()))

        watcher.receives(BlocksFinalized(a_block(7)))

        assert watcher.watch.finalized_number == 7
        assert watcher.watch.recent == (a_block(9),)

    def test_is_news_only_where_it_is_higher(self) -> None:
        watch = three_blocks().watch

        assert not watch.has_new_events([BlocksFinalized(a_block(1))])
        assert watch.has_new_events([BlocksFinalized(a_block(2))])
        assert not watch.has_new_events([BlockAdded(a_block(3), ())])
        assert watch.has_new_events([BlockAdded(a_block(4), ())])
        assert watch.has_new_events([BlocksReverted(a_block(2), ())])
        assert not watch.has_new_events([])


def test_a_chain_that_ends_too_early_is_named_with_its_ends() -> None:
    error = ChainBehind(NETWORK, head=3, finalized=5)

    assert error.network == NETWORK
    assert str(error) == (
        f"{NETWORK}: the chain ends at block 3 and is not the one we followed up to its final "
        "block 5: it was started anew, or the database belongs to another"
    )
