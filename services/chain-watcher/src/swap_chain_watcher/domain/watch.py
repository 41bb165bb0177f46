"""The watcher's state of one network: its cursor, and what can still change."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from swap_chain_watcher.domain.movements import TrackedMovement
from swap_chains.events import Block, BlockAdded, BlocksFinalized, BlocksReverted, ChainEvent


class CursorMoved(Exception):
    """Another process has written since this watch was read: it must be read again."""


class NetworkHalted(Exception):
    """A network waits for an operator; the others are still followed."""


class NotHalted(Exception):
    """What only a halted network may be ordered: it goes on meanwhile."""


@dataclass(frozen=True, slots=True)
class Halt:
    """Why a network is not followed until an operator resumes it."""

    network: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class HaltMark:
    """A halt, and what was published until now: another one means that checks are outdated."""

    halted_at: datetime
    revision: int
    last_outbox_id: int | None


@dataclass(frozen=True, slots=True)
class WatchPosition:
    """Where the watch of one network stands, for people and metrics."""

    network: str
    cursor: Block
    finalized_number: int
    halt: Halt | None


@dataclass(frozen=True, slots=True)
class UncheckedRange:
    """The final blocks of a network that were read only once."""

    checked_number: int  # read twice up to here
    finalized_number: int


class ChainBehind(Exception):
    """The chain ends before what we stored of it, and is not the one we stored."""

    def __init__(self, network: str, *, head: int, finalized: int) -> None:
        super().__init__(
            f"{network}: the chain ends at block {head} and is not the one we followed up to its "
            f"final block {finalized}: it was started anew, or the database belongs to another"
        )
        self.network = network


class BrokenChain(Exception):
    """The reported facts contradict the stored ones: none of them is used."""

    def __init__(self, network: str, what: str) -> None:
        super().__init__(f"{network}: {what}")
        self.network = network
        self.what = what


@dataclass(frozen=True, slots=True)
class Watch:
    """One network as of its cursor. `open` is kept by the one who follows, not read each time."""

    network: str
    cursor: Block
    finalized_number: int
    start_number: int  # from here to the cursor every block was followed
    recent: tuple[Block, ...]  # canonical, oldest first: from the last final one to the cursor
    open: Mapping[UUID, TrackedMovement]  # what a block can still confirm, or a reorg take back
    revision: int = 0  # raised when something else than the follower adds to what is open

    def has_new_events(self, chain_events: Sequence[ChainEvent]) -> bool:
        """Whether anything of a batch is not known yet."""
        known = {block.hash for block in self.recent}
        return any(self._is_new_event(event, known) for event in chain_events)

    def _is_new_event(self, event: ChainEvent, known: Collection[str]) -> bool:
        match event:
            case BlockAdded():
                return event.block.hash not in known
            case BlocksReverted():
                return True
            case BlocksFinalized():
                return event.upto.number > self.finalized_number


@dataclass(frozen=True, slots=True)
class Step:
    """What a batch of facts changes; all of it commits together or not at all."""

    before: Watch
    after: Watch
    added_blocks: tuple[Block, ...]  # still canonical at the end of the batch
    orphaned_blocks: tuple[Block, ...]  # perhaps published and reverted within the batch
    new_movements: tuple[TrackedMovement, ...]  # movements in blocks where they were not before
    changed_movements: tuple[TrackedMovement, ...]  # movements known there, with another state
    publications: tuple[TrackedMovement, ...]  # what to publish, in this order
    withheld_movements: tuple[
        TrackedMovement, ...
    ] = ()  # deep enough, and from now on waiting for a provider
    trusted_movements: tuple[
        TrackedMovement, ...
    ] = ()  # confirmed by one provider's report, under its cap
