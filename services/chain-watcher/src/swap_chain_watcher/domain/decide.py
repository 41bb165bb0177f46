"""From facts about a chain to what is stored and what is published. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Literal
from uuid import UUID

from swap_chain_watcher.domain.evidence import CapBudget, Evidence
from swap_chain_watcher.domain.movement_mapping import to_movement
from swap_chain_watcher.domain.movements import (
    Depth,
    Movement,
    PublishedVersion,
    State,
    Subject,
    TrackedMovement,
)
from swap_chain_watcher.domain.policy import Policy
from swap_chain_watcher.domain.watch import BrokenChain, Step, Watch
from swap_chains.errors import ReorgBeyondFinality
from swap_chains.events import Block, BlockAdded, BlocksFinalized, BlocksReverted, ChainEvent


def decide(
    watch: Watch,
    chain_events: Sequence[ChainEvent],
    *,
    policy: Policy,
    known: Mapping[Subject, PublishedVersion],
    targets: Collection[str] = (),
    evidence: Evidence | None = None,
) -> Step:
    """Return what the facts change.

    `known` has the last word about every subject of the batch that was ever published, `targets`
    the deposit addresses among its senders, in lower case. `evidence` is of the watch as it is.

    :raises BrokenChain: when the facts do not follow from what is known.
    :raises ReorgBeyondFinality: when they take back what is final.
    """
    batch = _Batch(watch, chain_events, policy, known, targets, evidence=evidence)
    for event in chain_events:
        match event:
            case BlockAdded():
                batch.add(event)
            case BlocksReverted():
                batch.revert(event)
            case BlocksFinalized():
                batch.finalize(event)
    batch.confirm()
    return batch.step()


def decide_found(
    watch: Watch,
    found: Sequence[Movement],
    *,
    policy: Policy,
    known: Mapping[Subject, PublishedVersion],
    evidence: Evidence | None = None,
) -> Step:
    """Return the changes when movements are found in blocks that are already known.

    `known` has the last word about each of them that was ever published.

    :raises BrokenChain: when a block is not one of the chain that is followed.
    """
    batch = _Batch(watch, (), policy, known, evidence=evidence)
    for movement in found:
        batch.find(movement)
    batch.confirm()
    return batch.step()


def without_superseded_sightings(
    publications: Sequence[TrackedMovement],
) -> tuple[TrackedMovement, ...]:
    """Leave out that something was seen where the same batch confirms it.

    Not where several arrived for the same swap: the second must be known before the first is
    settled.
    """
    confirmed = {_place(one) for one in publications if one.state is State.CONFIRMED}
    swaps = Counter(_swap(one.movement) for one in publications if one.state is State.SEEN)
    return tuple(
        one
        for one in publications
        if one.state is not State.SEEN
        or _place(one) not in confirmed
        or swaps[_swap(one.movement)] > 1
    )


def _place(tracked: TrackedMovement) -> tuple[str, UUID]:
    return tracked.movement.block.hash, tracked.movement.id


def _swap(movement: Movement) -> tuple[object, ...]:
    """Return what a movement contains about the swap that it may be for."""
    return movement.sequence_number, movement.memo, movement.to_address, movement.paid_id


class _Batch:
    """The working state of one batch; it never outlives `decide`."""

    def __init__(
        self,
        watch: Watch,
        chain_events: Sequence[ChainEvent],
        policy: Policy,
        known: Mapping[Subject, PublishedVersion],
        targets: Collection[str] = (),
        *,
        evidence: Evidence | None,
    ) -> None:
        self._before = watch
        self._evidence = evidence or Evidence()
        self._policy = policy
        self._targets = targets
        self._known = dict(known)
        self._finalized = watch.finalized_number
        self._start = watch.start_number
        self._chain = list(watch.recent)
        self._hashes = {block.number: block.hash for block in watch.recent}
        self._added: dict[str, Block] = {}
        self._orphaned_blocks: dict[str, Block] = {}
        self._open = dict(watch.open)
        self._new_movements: dict[tuple[str, UUID], TrackedMovement] = {}
        self._changed_movements: dict[tuple[str, UUID], TrackedMovement] = {}
        self._publications: list[TrackedMovement] = []
        # A deposit that is final at the end of the batch cannot be reverted: it counts in no tier.
        final = [event.upto.number for event in chain_events if isinstance(event, BlocksFinalized)]
        self._final_by_end = max([watch.finalized_number, *final])
        self._inflow: dict[str, int] = {}
        for tracked in self._open.values():
            self._adjust_inflow(tracked.movement, 1)
        # Final or not: what one provider reports is no less its report when it is final.
        self._unverified = dict(self._evidence.unverified_sums)
        self._withheld: list[TrackedMovement] = []
        self._trusted: list[TrackedMovement] = []

    @property
    def _network(self) -> str:
        return self._before.network

    @property
    def _head(self) -> Block:
        return self._chain[-1]

    def add(self, event: BlockAdded) -> None:
        block = event.block
        if self._hashes.get(block.number) == block.hash:
            return  # received twice
        if block.number <= self._head.number:
            raise BrokenChain(self._network, f"block {block.number} again, with another hash")
        if block.number > self._head.number + 1:
            self._start = block.number  # final empty blocks were skipped
        elif block.parent_hash != self._head.hash:
            raise BrokenChain(self._network, f"block {block.number} does not follow its parent")
        self._chain.append(block)
        self._hashes[block.number] = block.hash
        self._added[block.hash] = block
        self._orphaned_blocks.pop(block.hash, None)
        for fact in event.movements:
            movement = to_movement(block, fact, self._policy, self._targets)
            if movement is not None:
                self._add_movement(movement)

    def find(self, movement: Movement) -> None:
        block = movement.block
        followed = self._hashes.get(block.number)
        is_changeable = block.number > self._finalized
        if followed != block.hash and (is_changeable or followed is not None):
            raise BrokenChain(self._network, f"block {block.number} is not one that is followed")
        if block.number <= self._finalized:
            self._added[block.hash] = block  # final empty ones were skipped
        self._add_movement(movement)

    def revert(self, event: BlocksReverted) -> None:
        """Orphan the blocks that a reorg replaced, and revert their movements.

        :raises ReorgBeyondFinality: when one of them is final.
        """
        ancestor = event.ancestor
        if ancestor.number < self._finalized:
            raise ReorgBeyondFinality(self._network, self._finalized)
        if self._hashes.get(ancestor.number) != ancestor.hash:
            raise BrokenChain(self._network, f"block {ancestor.number} is no ancestor we know")
        gone = [block for block in self._chain if block.number > ancestor.number]
        self._chain = self._chain[: len(self._chain) - len(gone)]
        for block in gone:
            del self._hashes[block.number]
            self._added.pop(block.hash, None)
            self._orphaned_blocks[block.hash] = block
        hashes = {block.hash for block in gone}
        for tracked in list(self._open.values()):
            if tracked.movement.block.hash in hashes:
                self._revert_movement(tracked)

    def finalize(self, event: BlocksFinalized) -> None:
        upto = event.upto
        if self._hashes.get(upto.number, upto.hash) != upto.hash:
            raise BrokenChain(self._network, f"final block {upto.number} is not the reported one")
        self._finalized = max(self._finalized, min(upto.number, self._head.number))

    def confirm(self) -> None:
        """Publish what is deep enough, and drop confirmed movements of final blocks."""
        caps = self._policy.caps
        budget = CapBudget(caps.base_units, self._evidence.single_provider_sums) if caps else None
        for before in sorted(self._open.values(), key=lambda t: t.movement.block.number):
            tracked = last = self._with_evidence(before)
            if self._is_deep_enough(tracked):
                last = self._confirm(tracked, budget)
            if last.state is State.CONFIRMED and last.movement.block.number <= self._finalized:
                del self._open[last.movement.id]

    def step(self) -> Step:
        chain = tuple(block for block in self._chain if block.number >= self._finalized)
        after = replace(
            self._before,
            cursor=self._head,
            finalized_number=self._finalized,
            start_number=self._start,
            recent=chain or (self._head,),
            open=self._open,
        )
        return Step(
            before=self._before,
            after=after,
            added_blocks=tuple(self._added.values()),
            orphaned_blocks=tuple(self._orphaned_blocks.values()),
            new_movements=tuple(self._new_movements.values()),
            changed_movements=tuple(self._changed_movements.values()),
            publications=without_superseded_sightings(self._publications),
            withheld_movements=tuple(self._withheld),
            trusted_movements=tuple(self._trusted),
        )

    def _with_evidence(self, tracked: TrackedMovement) -> TrackedMovement:
        if tracked.is_verified or tracked.key not in self._evidence.verified_keys:
            return tracked
        verified = replace(tracked, is_verified=True)
        self._open[tracked.movement.id] = verified
        return verified

    def _confirm(self, tracked: TrackedMovement, budget: CapBudget | None) -> TrackedMovement:
        """Confirm what enough providers report; what they do not waits, and is not refused."""
        movement = tracked.movement
        is_capped = self._policy.adds_to_inflow(movement) and not tracked.is_verified
        remaining = budget if is_capped else None
        if self._policy.has_second_provider:
            is_enough = not tracked.awaits_second_provider
        else:
            is_enough = remaining is None or remaining.reserve(movement)
        if is_enough:
            last = self._publish(tracked, State.CONFIRMED)
            if remaining is not None:
                self._trusted.append(last)
            return last
        if not tracked.is_withheld:
            tracked = replace(tracked, is_withheld=True)
            self._open[movement.id] = tracked
            self._withheld.append(tracked)
        return tracked

    def _add_movement(self, movement: Movement) -> None:
        if not movement.is_published:
            self._new_movements[movement.block.hash, movement.id] = TrackedMovement(movement)
            return
        depth = self._depth(movement)
        before = self._known.get(movement.subject)
        version = 0
        if before is not None:
            depth, version = depth.strictest(before.depth), before.version
        self._new_movements[movement.block.hash, movement.id] = fresh = TrackedMovement(
            movement, depth, version
        )
        self._publish(fresh, State.SEEN)

    def _depth(self, movement: Movement) -> Depth:
        token = movement.token.lower()
        pending = self._inflow.get(token, 0) + movement.base_units
        self._adjust_inflow(movement, 1)
        unverified = self._unverified.get(token, 0) + movement.base_units
        if self._policy.adds_to_inflow(movement):
            self._unverified[token] = unverified
        return self._policy.depth(movement, pending, unverified)

    def _revert_movement(self, tracked: TrackedMovement) -> None:
        self._adjust_inflow(tracked.movement, -1)
        token = tracked.movement.token.lower()
        if self._policy.adds_to_inflow(tracked.movement) and not tracked.is_verified:
            left = self._unverified.get(token, 0) - tracked.movement.base_units
            self._unverified[token] = max(left, 0)
        self._publish(tracked, State.REVERTED)

    def _adjust_inflow(self, movement: Movement, sign: Literal[1, -1]) -> None:
        if movement.block.number > self._final_by_end and self._policy.adds_to_inflow(movement):
            token = movement.token.lower()
            self._inflow[token] = self._inflow.get(token, 0) + sign * movement.base_units

    def _is_deep_enough(self, tracked: TrackedMovement) -> bool:
        return (
            tracked.state is State.SEEN
            and tracked.depth is not None
            and tracked.depth.is_reached(
                tracked.movement.block.number, head=self._head.number, finalized=self._finalized
            )
        )

    def _publish(self, tracked: TrackedMovement, state: State) -> TrackedMovement:
        last = tracked.with_state(state)
        movement = last.movement
        self._publications.append(last)
        if last.depth is not None:
            self._known[movement.subject] = PublishedVersion(last.version, last.depth)
        if state is State.REVERTED:
            del self._open[movement.id]
        else:
            self._open[movement.id] = last
        key = movement.block.hash, movement.id
        (self._new_movements if key in self._new_movements else self._changed_movements)[key] = last
        return last
