"""Rows to domain and back. An amount is numeric in the database and int everywhere else."""

from __future__ import annotations

from collections.abc import Mapping

from swap_chain_watcher.domain.balance_rises import LastCount
from swap_chain_watcher.domain.movements import (
    Depth,
    Kind,
    Movement,
    PublishedVersion,
    Quarantine,
    State,
    Subject,
    TrackedMovement,
)
from swap_chain_watcher.domain.watch import Halt, WatchPosition
from swap_chains.events import Block
from swap_runtime.postgres.sql import Row


def to_block(row: Row) -> Block:
    return Block(number=row.number, hash=row.hash, parent_hash=row.parent_hash, time=row.time)


def to_tracked(row: Row) -> TrackedMovement:
    return TrackedMovement(
        Movement(
            id=row.id,
            network=row.network,
            block=Block(
                row.block_number, row.block_hash, row.parent_hash, row.block_time, row.provider
            ),
            kind=Kind(row.kind),
            transaction_hash=row.transaction_hash,
            token=row.token,
            from_address=row.from_address,
            to_address=row.to_address,
            base_units=int(row.base_units),
            claimed_by=row.claimed_by,
            is_internal=row.internal,
            total_before=None if row.total_before is None else int(row.total_before),
            counted_number=row.counted_number,
            came_after=row.came_after,
            paid_id=None if row.paid_id is None else int(row.paid_id),
            sequence_number=row.sequence_number,
            memo=row.memo,
            quarantine=row.quarantine_reason and Quarantine(row.quarantine_reason),
        ),
        depth=_depth(row),
        version=row.version,
        state=State(row.state),
        is_verified=row.verified_at is not None,
        is_withheld=row.withheld_at is not None,
    )


def _depth(row: Row) -> Depth:
    return Depth(row.confirmations_required, row.waits_for_finality, row.providers_required or 0)


def to_known(row: Row) -> tuple[Subject, PublishedVersion]:
    subject = row.id if row.paid_id is None else int(row.paid_id)
    return subject, PublishedVersion(row.version, _depth(row))


def to_counted(row: Row) -> LastCount | None:
    """Return the last count of an address; None where it is not watched."""
    if row.since is None:
        return None
    return LastCount(row.counted_number, row.counted_time or row.since)


def to_halt(row: Row) -> Halt | None:
    if row.halted_at is None:
        return None
    return Halt(network=row.network, reason=row.halt_reason, at=row.halted_at)


def to_position(row: Row) -> WatchPosition:
    return WatchPosition(
        network=row.network,
        cursor=to_block(row),
        finalized_number=row.finalized_number,
        halt=to_halt(row),
    )


def block_row(block: Block) -> dict[str, object]:
    return {
        "number": block.number,
        "hash": block.hash,
        "parent_hash": block.parent_hash,
        "time": block.time,
        "provider": block.provider,
    }


def movement_row(tracked: TrackedMovement) -> Mapping[str, object]:
    movement, depth = tracked.movement, tracked.depth
    return {
        "block_hash": movement.block.hash,
        "id": movement.id,
        "block_number": movement.block.number,
        "kind": movement.kind.value,
        "transaction_hash": movement.transaction_hash,
        "token": movement.token,
        "from_address": movement.from_address,
        "to_address": movement.to_address,
        "base_units": str(movement.base_units),
        "claimed_by": movement.claimed_by,
        "internal": movement.is_internal,
        "total_before": None if movement.total_before is None else str(movement.total_before),
        "paid_id": None if movement.paid_id is None else str(movement.paid_id),
        "sequence_number": movement.sequence_number,
        "memo": movement.memo,
        "quarantine_reason": movement.quarantine and movement.quarantine.value,
        "version": tracked.version,
        "state": tracked.state and tracked.state.value,
        "confirmations_required": depth and depth.confirmations,
        "waits_for_finality": None if depth is None else depth.is_finality,
        "counted_number": movement.counted_number,
        "came_after": movement.came_after,
        "provider": movement.block.provider,
        "providers_required": (depth and depth.providers) or None,
    }


def state_row(tracked: TrackedMovement) -> Mapping[str, object]:
    return {
        "block_hash": tracked.movement.block.hash,
        "id": tracked.movement.id,
        "version": tracked.version,
        "state": tracked.state and tracked.state.value,
    }
