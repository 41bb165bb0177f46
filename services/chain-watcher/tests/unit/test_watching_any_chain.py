"""Random chains: messages stay in order for any sequence of blocks and reorgs."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from watch_factories import SMALL_TIER_BELOW, Watcher, a_block, a_deposit, a_payout

from swap_chain_watcher.domain.movements import State, TrackedMovement
from swap_chains import events
from swap_chains.events import Block, BlockAdded, BlocksFinalized, BlocksReverted

LEGAL: Final = {
    None: {State.SEEN},
    State.SEEN: {State.CONFIRMED, State.REVERTED},
    State.CONFIRMED: {State.REVERTED},
    State.REVERTED: {State.SEEN},
}
AMOUNTS = st.sampled_from([1, SMALL_TIER_BELOW // 2, SMALL_TIER_BELOW])


class AnyChain(RuleBasedStateMachine):
    """Mines, reverts and mines again; the watcher gets every fact, some in one batch."""

    def __init__(self) -> None:
        super().__init__()
        self.watcher = Watcher()
        self.chain: list[tuple[Block, tuple[events.Movement, ...]]] = [(a_block(0), ())]
        self.finalized = 0
        self.made = 0
        self.waiting: list[events.Movement] = []  # reverted, not mined again

    @rule(amounts=st.lists(AMOUNTS, max_size=3), pays=st.booleans(), again=st.booleans())
    def mine(self, amounts: list[int], pays: bool, again: bool) -> None:
        movements: list[events.Movement] = []
        for amount in amounts:
            self.made += 1
            movements.append(a_deposit(f"deposit {self.made}", amount))
        if pays:
            self.made += 1
            movements.append(a_payout(f"payout {self.made}", intent_id=self.made))
        if again:
            movements += self.waiting
            self.waiting = []
        self.made += 1
        parent = self.chain[-1][0]
        block = a_block(parent.number + 1, branch=f"#{self.made}", parent=parent)
        self.chain.append((block, tuple(movements)))
        self.watcher.receives(BlockAdded(block, tuple(movements)))

    @rule(depth=st.integers(1, 4), replaced=st.booleans())
    def reorganise(self, depth: int, replaced: bool) -> None:
        depth = min(depth, len(self.chain) - 1 - self.finalized)
        if depth < 1:
            return
        gone, self.chain = self.chain[-depth:], self.chain[:-depth]
        self.waiting += [movement for _, movements in gone for movement in movements]
        chain_events: list[events.ChainEvent] = [
            BlocksReverted(self.chain[-1][0], tuple(block for block, _ in gone))
        ]
        if replaced:
            self.made += 1
            parent = self.chain[-1][0]
            block = a_block(parent.number + 1, branch=f"#{self.made}", parent=parent)
            movements, self.waiting = tuple(self.waiting), []
            self.chain.append((block, movements))
            chain_events.append(BlockAdded(block, movements))
        self.watcher.receives(*chain_events)

    @rule(behind=st.integers(0, 3))
    def finalize(self, behind: int) -> None:
        number = max(len(self.chain) - 1 - behind, self.finalized)
        self.finalized = number
        self.watcher.receives(BlocksFinalized(self.chain[number][0]))

    @rule()
    def repeat_last_block(self) -> None:
        block, movements = self.chain[-1]
        before = len(self.watcher.publications)
        self.watcher.receives(BlockAdded(block, movements))
        assert len(self.watcher.publications) == before

    @invariant()
    def every_version_is_published_once_and_in_order(self) -> None:
        versions: dict[object, int] = {}
        for tracked in self.watcher.publications:
            subject = tracked.movement.subject
            assert tracked.version == versions.get(subject, 0) + 1
            versions[subject] = tracked.version

    @invariant()
    def states_follow_one_another(self) -> None:
        last: dict[object, State | None] = {}
        for tracked in self.watcher.publications:
            subject = tracked.movement.subject
            assert tracked.state in LEGAL[last.get(subject)]
            last[subject] = tracked.state

    @invariant()
    def last_versions_match_the_chain(self) -> None:
        last: dict[object, TrackedMovement] = {
            t.movement.subject: t for t in self.watcher.publications
        }
        mined = {
            movement.id.transaction_hash: block
            for block, movements in self.chain
            for movement in movements
        }
        for tracked in last.values():
            block = mined.get(tracked.movement.transaction_hash or "")
            if tracked.state is State.REVERTED:
                assert block is None
                continue
            assert block == tracked.movement.block
            assert tracked.depth is not None
            deep = tracked.depth.is_reached(
                block.number, head=len(self.chain) - 1, finalized=self.finalized
            )
            # A confirmed movement stays confirmed while its block exists, at any head.
            assert tracked.state is State.CONFIRMED or not deep

    @invariant()
    def depth_never_decreases(self) -> None:
        depths: dict[object, tuple[bool, int]] = {}
        for tracked in self.watcher.publications:
            assert tracked.depth is not None
            depth = (tracked.depth.is_finality, tracked.depth.confirmations)
            assert depth >= depths.get(tracked.movement.subject, depth)
            depths[tracked.movement.subject] = depth

    @invariant()
    def the_known_chain_is_linked_and_is_the_chain(self) -> None:
        recent = self.watcher.watch.recent
        assert [block.hash for block in recent] == [
            block.hash for block, _ in self.chain[self.finalized :]
        ]
        for parent, block in pairwise(recent):
            assert block.parent_hash == parent.hash

    @invariant()
    def only_open_movements_are_held(self) -> None:
        for tracked in self.watcher.watch.open.values():
            assert tracked.state is State.SEEN or tracked.movement.block.number > self.finalized


TestAnyChain = AnyChain.TestCase
TestAnyChain.settings = settings(
    max_examples=settings().max_examples * 2 // 5,
    stateful_step_count=25,
    suppress_health_check=[HealthCheck.too_slow],
)
