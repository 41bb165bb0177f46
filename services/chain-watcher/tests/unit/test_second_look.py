"""What a second look at final blocks adds."""

from __future__ import annotations

import pytest
from watch_factories import NETWORK, a_block, a_deposit, a_log, a_payout, a_policy, a_transfer

from swap_chain_watcher.domain.movements import Depth, Known, Subject, movement_id
from swap_chain_watcher.domain.second_look import Missed, Stored, decide_missed
from swap_chain_watcher.domain.watch import BrokenChain
from swap_chains import events
from swap_chains.events import BlockAdded

BLOCK = a_block(5)


def missed(
    *movements: events.Movement,
    stored: Stored | None = None,
    known: dict[Subject, Known] | None = None,
) -> Missed:
    return decide_missed(
        NETWORK,
        [BlockAdded(BLOCK, movements)],
        stored=stored or Stored(frozenset(), {}),
        policy=a_policy(),
        known=known or {},
    )


def said(found: Missed) -> list[tuple[str, int]]:
    return [(tracked.state.value, tracked.version) for tracked in found.told if tracked.state]


def test_confirms_what_it_finds_with_its_block() -> None:
    found = missed(a_deposit("one"))

    assert said(found) == [("seen", 1), ("confirmed", 2)]
    assert found.blocks == (BLOCK,)
    assert [tracked.version for tracked in found.sighted] == [2]


def test_leaves_what_is_stored() -> None:
    stored = Stored(frozenset({movement_id(NETWORK, a_log("one"))}), {5: BLOCK.hash})

    assert missed(a_deposit("one"), stored=stored) == Missed((), (), ())


def test_keeps_claimed_receipts_without_a_word() -> None:
    found = missed(a_transfer("receipt", claimed_by=a_log("deposit")))

    assert (found.told, len(found.sighted)) == ((), 1)


def test_goes_on_with_the_versions_of_an_intent() -> None:
    found = missed(a_payout("again", 99), known={99: Known(2, Depth(1, is_finality=False))})

    assert said(found) == [("seen", 3), ("confirmed", 4)]


def test_believes_nobody_when_two_nodes_differ_on_a_final_block() -> None:
    with pytest.raises(BrokenChain):
        missed(a_deposit("one"), stored=Stored(frozenset(), {5: a_block(5, branch="b").hash}))
