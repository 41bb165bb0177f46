"""What another node reports in final blocks that the first one did not, and what it denies."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from swap_chain_watcher.domain.evidence import Evidence, Key
from swap_chain_watcher.domain.movement_mapping import to_movement
from swap_chain_watcher.domain.movements import (
    Movement,
    PublishedVersion,
    State,
    Subject,
    TrackedMovement,
    movement_id,
)
from swap_chain_watcher.domain.policy import Policy
from swap_chain_watcher.domain.watch import BrokenChain
from swap_chains.events import Block, BlockAdded


class MovementsDenied(Exception):
    """What was published is not in the final blocks as it was: a node invents, or hides."""

    def __init__(self, network: str, denied: Sequence[Movement]) -> None:
        first = denied[0]
        super().__init__(
            f"{network}: final blocks, read a second time, lack {len(denied)} of the movements "
            f"that were published, first {first.kind} of transaction {first.transaction_hash} in "
            f"block {first.block.number}, reported by {first.block.provider}: a node invents or "
            "hides logs"
        )
        self.network = network
        self.denied = tuple(denied)


@dataclass(frozen=True, slots=True)
class StoredMovements:
    """What is known of the blocks that were found, and of the range they were found in."""

    movement_ids: frozenset[UUID]  # in the blocks in which they were found
    hashes: Mapping[int, str]  # of canonical blocks, by number; empty ones may be missing
    published: tuple[Movement, ...] = ()  # in canonical blocks of the whole range
    # Of those, deposits with a sender and memo that are compared too. Those that were stored before
    # reports were compared may have been read by other rules.
    deposits: frozenset[Key] = frozenset()
    in_other_blocks: tuple[
        Movement, ...
    ] = ()  # published of another canonical block than was found


@dataclass(frozen=True, slots=True)
class MissedMovements:
    """What has to be added."""

    blocks: tuple[Block, ...]
    new_movements: tuple[TrackedMovement, ...]
    publications: tuple[TrackedMovement, ...]
    verified: tuple[Key, ...] = ()  # stored deposits that were reported alike

    @property
    def leaves_open(self) -> bool:
        """Whether the follower has to confirm some of it later."""
        return any(tracked.state is State.SEEN for tracked in self.new_movements)


def decide_missed(
    network: str,
    found: Sequence[BlockAdded],
    *,
    stored: StoredMovements,
    policy: Policy,
    known: Mapping[Subject, PublishedVersion],
    targets: Collection[str] = (),
    watched: Collection[str] = (),
    evidence: Evidence | None = None,
) -> MissedMovements:
    """Return what is in the final blocks and is not stored.

    It is confirmed as soon as it is seen, unless more than this one provider must report it.

    :param watched: the deposit addresses that the node was queried about, in lower case.
    :raises BrokenChain: when the two nodes do not have the same final blocks.
    :raises MovementsDenied: when something is stored and published, and is not there.
    """
    _refuse_other_blocks(network, found, stored)
    reported = _reported_movements(found, policy, targets)
    verified = _refuse_denials(network, found, stored, policy, watched=watched, reported=reported)
    unverified = dict((evidence or Evidence()).unverified_sums)
    blocks: list[Block] = []
    new_movements: list[TrackedMovement] = []
    publications: list[TrackedMovement] = []
    for added in found:
        keys = [(added.block.hash, id_) for id_ in _ids(network, added)]
        here = [reported[key] for key in keys if key in reported]
        missed = [m for m in here if m.id not in stored.movement_ids]
        if missed and added.block.number not in stored.hashes:
            blocks.append(added.block)
        for movement in missed:
            changes = _changes(movement, policy, known, unverified)
            new_movements.append(changes[-1])
            publications += changes if movement.is_published else ()
    return MissedMovements(
        tuple(blocks), tuple(new_movements), tuple(publications), tuple(verified)
    )


def _reported_movements(
    found: Sequence[BlockAdded], policy: Policy, targets: Collection[str]
) -> Mapping[Key, Movement]:
    return {
        (added.block.hash, movement.id): movement
        for added in found
        for fact in added.movements
        if (movement := to_movement(added.block, fact, policy, targets)) is not None
    }


def _refuse_other_blocks(
    network: str, found: Sequence[BlockAdded], stored: StoredMovements
) -> None:
    for block in (added.block for added in found):
        if stored.hashes.get(block.number, block.hash) != block.hash:
            raise BrokenChain(network, f"two nodes differ on final block {block.number}")


def _refuse_denials(
    network: str,
    found: Sequence[BlockAdded],
    stored: StoredMovements,
    policy: Policy,
    *,
    watched: Collection[str],
    reported: Mapping[Key, Movement],
) -> Sequence[Key]:
    """Return the deposits that are reported as they are stored."""
    there = {(added.block.hash, id_) for added in found for id_ in _ids(network, added)}
    # Before its true block counts as read: the log would not be looked up there again.
    denied = list(stored.in_other_blocks)
    verified: list[Key] = []
    for movement in stored.published:
        key = movement.block.hash, movement.id
        is_there = key in there
        if is_there and key in stored.deposits and key in reported:
            is_there = has_same_origin(reported[key], movement)
            if is_reported_alike(movement, reported[key]):
                verified.append(key)
        if not is_there and policy.is_in_log_scope(movement, watched):
            denied.append(movement)
    if denied:
        raise MovementsDenied(network, denied)
    return verified


def is_reported_alike(movement: Movement, reported: Movement) -> bool:
    """Whether another provider reports a published movement as it is stored."""
    is_same = reported.block == movement.block and reported.evidence == movement.evidence
    return is_same and reported.is_published


def has_same_origin(reported: Movement, movement: Movement) -> bool:
    """Whether both name the same payer, the same swap and the log that accounts for it, if any.

    No log fixes these. If a node hides the deposit, its receipt would be credited beside it.
    """
    return _origin(reported) == _origin(movement)


def _ids(network: str, added: BlockAdded) -> Sequence[UUID]:
    return [movement_id(network, fact.id) for fact in added.movements]


def _origin(movement: Movement) -> tuple[object, ...]:
    """Return what of a movement its log does not fix."""
    return movement.from_address, movement.memo, movement.sequence_number, movement.claimed_by


def _changes(
    movement: Movement,
    policy: Policy,
    known: Mapping[Subject, PublishedVersion],
    unverified: dict[str, int],
) -> Sequence[TrackedMovement]:
    if not movement.is_published:
        return [TrackedMovement(movement)]
    # It is final already, so nothing is pending with it.
    token = movement.token.lower()
    reported_once = unverified.get(token, 0) + movement.base_units
    depth = policy.depth(movement, movement.base_units, reported_once)
    before = known.get(movement.subject)
    fresh = TrackedMovement(movement, depth, before.version if before else 0)
    seen = fresh.with_state(State.SEEN)
    is_counted = policy.adds_to_inflow(movement)
    if is_counted:
        unverified[token] = reported_once
    is_short = seen.awaits_second_provider and policy.has_second_provider
    if is_short or (is_counted and policy.caps is not None):
        return [seen]  # the follower confirms it, as any other
    return [seen, seen.with_state(State.CONFIRMED)]
