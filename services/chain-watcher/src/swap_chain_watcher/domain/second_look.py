"""What another node tells of final blocks that the first one did not."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from swap_chain_watcher.domain.movements import Known, Movement, State, Subject, Tracked
from swap_chain_watcher.domain.policy import Policy
from swap_chain_watcher.domain.reading import read
from swap_chain_watcher.domain.watch import BrokenChain
from swap_chains.events import Block, BlockAdded


@dataclass(frozen=True, slots=True)
class Stored:
    """What is known of the blocks that were found."""

    movement_ids: frozenset[UUID]  # in canonical blocks
    hashes: Mapping[int, str]  # of canonical blocks, by number; empty ones may be missing


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
) -> Missed:
    """Return what is in the final blocks and is not stored. It is confirmed as soon as it is seen.

    :raises BrokenChain: when the two nodes do not have the same final blocks.
    """
    blocks: list[Block] = []
    sighted: list[Tracked] = []
    told: list[Tracked] = []
    for added in found:
        if stored.hashes.get(added.block.number, added.block.hash) != added.block.hash:
            raise BrokenChain(network, f"two nodes differ on final block {added.block.number}")
        read_movements = [read(added.block, fact, policy, targets) for fact in added.movements]
        missed = [m for m in read_movements if m is not None and m.id not in stored.movement_ids]
        if missed and added.block.number not in stored.hashes:
            blocks.append(added.block)
        for movement in missed:
            changes = _changes(movement, policy, known)
            sighted.append(changes[-1])
            told += changes if movement.is_published else ()
    return Missed(tuple(blocks), tuple(sighted), tuple(told))


def _changes(
    movement: Movement, policy: Policy, known: Mapping[Subject, Known]
) -> Sequence[Tracked]:
    if not movement.is_published:
        return [Tracked(movement)]
    # It is final already, so nothing is pending with it.
    depth = (
        policy.deposit_depth(movement.token, movement.base_units)
        if movement.paid_id is None
        else policy.payout_depth()
    )
    before = known.get(movement.subject)
    fresh = Tracked(movement, depth, before.version if before else 0)
    seen = fresh.told(State.SEEN)
    return [seen, seen.told(State.CONFIRMED)]
