"""What another node tells of final blocks that the first one did not, and what it denies."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from swap_chain_watcher.domain.movements import Known, Movement, State, Subject, Tracked
from swap_chain_watcher.domain.policy import Policy
from swap_chain_watcher.domain.reading import movement_ids, read
from swap_chain_watcher.domain.watch import BrokenChain
from swap_chains.events import Block, BlockAdded


class MovementsDenied(Exception):
    """What was published is not in the final blocks: a node invented it, or hides it."""

    def __init__(self, network: str, denied: Sequence[Movement]) -> None:
        first = denied[0]
        super().__init__(
            f"{network}: final blocks, read a second time, lack {len(denied)} of the movements "
            f"that were published, first {first.kind} of transaction {first.transaction_hash} in "
            f"block {first.block.number}: a node invents or hides logs"
        )
        self.network = network
        self.denied = tuple(denied)


@dataclass(frozen=True, slots=True)
class Stored:
    """What is known of the blocks that were found, and of the range they were found in."""

    movement_ids: frozenset[UUID]  # in canonical blocks
    hashes: Mapping[int, str]  # of canonical blocks, by number; empty ones may be missing
    published: tuple[Movement, ...] = ()  # in canonical blocks of the whole range


@dataclass(frozen=True, slots=True)
class Missed:
    """What has to be added."""

    blocks: tuple[Block, ...]
    sighted: tuple[Tracked, ...]
    told: tuple[Tracked, ...]


def decide_missed(
    network: str,
    found: Sequence[BlockAdded],
    *,
    stored: Stored,
    policy: Policy,
    known: Mapping[Subject, Known],
    targets: Collection[str] = (),
    watched: Collection[str] = (),
) -> Missed:
    """Return what is in the final blocks and is not stored. It is confirmed as soon as it is seen.

    :param watched: the deposit addresses that the node was asked about, in lower case.
    :raises BrokenChain: when the two nodes do not have the same final blocks.
    :raises MovementsDenied: when something is stored and published, and is not there.
    """
    _refuse_other_blocks(network, found, stored)
    _refuse_denials(network, found, stored, policy, watched)
    blocks: list[Block] = []
    sighted: list[Tracked] = []
    told: list[Tracked] = []
    for added in found:
        read_movements = [read(added.block, fact, policy, targets) for fact in added.movements]
        missed = [m for m in read_movements if m is not None and m.id not in stored.movement_ids]
        if missed and added.block.number not in stored.hashes:
            blocks.append(added.block)
        for movement in missed:
            changes = _changes(movement, policy, known)
            sighted.append(changes[-1])
            told += changes if movement.is_published else ()
    return Missed(tuple(blocks), tuple(sighted), tuple(told))


def _refuse_other_blocks(network: str, found: Sequence[BlockAdded], stored: Stored) -> None:
    for block in (added.block for added in found):
        if stored.hashes.get(block.number, block.hash) != block.hash:
            raise BrokenChain(network, f"two nodes differ on final block {block.number}")


def _refuse_denials(
    network: str,
    found: Sequence[BlockAdded],
    stored: Stored,
    policy: Policy,
    watched: Collection[str],
) -> None:
    there = {(added.block.hash, id_) for added in found for id_ in movement_ids(network, [added])}
    denied = [
        movement
        for movement in stored.published
        if (movement.block.hash, movement.id) not in there
        and policy.is_asked_for(movement, watched)
    ]
    if denied:
        raise MovementsDenied(network, denied)


def _changes(
    movement: Movement, policy: Policy, known: Mapping[Subject, Known]
) -> Sequence[Tracked]:
    if not movement.is_published:
        return [Tracked(movement)]
    # It is final already, so nothing is pending with it.
    depth = policy.depth(movement, movement.base_units)
    before = known.get(movement.subject)
    fresh = Tracked(movement, depth, before.version if before else 0)
    seen = fresh.told(State.SEEN)
    return [seen, seen.told(State.CONFIRMED)]
