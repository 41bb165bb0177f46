"""What the chain-watcher needs from the outside, in its own words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from swap_chain_watcher.domain.balance_rises import AddressTotals
from swap_chain_watcher.domain.evidence import (
    Evidence,
    EvidenceQuery,
    Exposure,
    Key,
    WithheldDeposits,
)
from swap_chain_watcher.domain.hints import HintBackoff, HintedTransaction
from swap_chain_watcher.domain.movements import Movement, PublishedVersion, Subject, TrackedMovement
from swap_chain_watcher.domain.policy import Policy
from swap_chain_watcher.domain.second_look import MissedMovements, StoredMovements
from swap_chain_watcher.domain.take_back import StoredClaim
from swap_chain_watcher.domain.watch import Step, Watch
from swap_chains.events import Block, BlockAdded


class CursorMoved(Exception):
    """Somebody else has written since this watch was read: it must be read again."""


class NetworkHalted(Exception):
    """A network waits for a person; the others are followed all the same."""


class NotHalted(Exception):
    """What only a halted network may be ordered: it goes on meanwhile."""


@dataclass(frozen=True, slots=True)
class Halt:
    """Why a network is not followed until a person says so."""

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


@dataclass(frozen=True, slots=True)
class Target:
    """A deposit address to watch from `since` on."""

    network: str
    address: str
    since: datetime


class BatchContext(NamedTuple):
    """What is stored about a batch before it is decided."""

    known: Mapping[Subject, PublishedVersion]  # the last word ever published, where there was one
    targets: frozenset[str]  # the deposit addresses among the senders, in lower case
    evidence: Evidence = Evidence()


NO_EVIDENCE_QUERY: Final = EvidenceQuery()


@dataclass(frozen=True, slots=True)
class CountedAddresses:
    """What was counted at a block: every address assigned after `young_since`, and others."""

    block: Block
    young_since: datetime
    first: frozenset[str]  # young ones, for the first time
    old: tuple[str, ...]
    incomplete: frozenset[str]  # with part of a rise that is not published yet


class Work(Protocol):
    """One open transaction. Nothing outside the database is called while it lasts."""

    async def lock_cursor(
        self,
        watch: Watch,
        *,
        epoch: int,
        subjects: Collection[Subject],
        senders: Collection[str],
        evidence: EvidenceQuery = NO_EVIDENCE_QUERY,
    ) -> BatchContext:
        """Lock the network's cursor for this follower; recall behind it, in the same round trip.

        :raises LeaseLost: when the epoch is not the lease's any more.
        :raises CursorMoved: when the cursor, or what is open, is not as the watch was left.
        :raises NetworkHalted: when the second look has stopped the network meanwhile.
        """
        ...

    async def load_context(
        self,
        network: str,
        *,
        subjects: Collection[Subject],
        senders: Collection[str] = (),
        evidence: EvidenceQuery = NO_EVIDENCE_QUERY,
    ) -> BatchContext:
        """Return what was published about the subjects, and which senders are deposit addresses.

        :param senders: in lower case.
        """
        ...

    async def advance(self, step: Step, *, at: datetime) -> None:
        """Save what the step changed, what it tells and the cursor: one statement per table."""
        ...

    async def load_stored(
        self,
        network: str,
        found: Sequence[BlockAdded],
        keys: Collection[Key],
        *,
        first: int,
        last: int,
    ) -> StoredMovements:
        """Lock the network's cursor; return what is stored of the blocks that were found.

        `first` and `last` are the range they were found in, `keys` the movements in them.
        """
        ...

    async def add_missed(
        self, network: str, missed: MissedMovements, *, at: datetime, checked_number: int
    ) -> None:
        """Save what a second look found, and how far it got."""
        ...

    async def verify(self, network: str, keys: Collection[Key], *, at: datetime) -> None:
        """Lock the network's cursor; mark the movements as reported by a second provider."""
        ...

    async def load_swept_coins(self, network: str, addresses: Collection[str]) -> Mapping[str, int]:
        """Return what was swept of each address's coins, as far as it was read twice."""
        ...

    async def lock_rises(
        self, network: str, addresses: Collection[str]
    ) -> Sequence[TrackedMovement]:
        """Lock the network's cursor; return the published rises that one provider has reported.

        Those of one address follow each other in the order in which they came.
        """
        ...

    async def revert_and_halt(
        self, network: str, reverted: Sequence[TrackedMovement], *, halt: Halt
    ) -> None:
        """Publish that movements are gone from final blocks, and halt the network with it.

        The coins of their addresses are counted anew.
        """
        ...

    async def lock_logs(
        self, network: str, transaction_hashes: Collection[str]
    ) -> Sequence[TrackedMovement]:
        """Lock the network's cursor; return what was published of the transactions' logs.

        :raises NotHalted: when the network is not halted.
        """
        ...

    async def load_blocks(
        self, network: str, block_hashes: Collection[str], transaction_hashes: Collection[str]
    ) -> Mapping[Key, StoredClaim]:
        """Return every movement of the transactions in these blocks, published or not."""
        ...

    async def take_back_logs(
        self,
        network: str,
        reverted: Sequence[TrackedMovement],
        replacements: Sequence[TrackedMovement],
        *,
        silent: Sequence[TrackedMovement],
        restated: Sequence[TrackedMovement],
        at: datetime,
    ) -> None:
        """Publish that logs were made up, and what their transactions really moved.

        `silent` is reverted without a message, `restated` is published again as it is.

        The order that is carried out is logged; a later transaction completes it.
        """
        ...

    async def stored_ids(self, network: str, ids: Collection[UUID]) -> frozenset[UUID]:
        """Return which of the movements are in canonical blocks."""
        ...

    async def received(self, network: str, addresses: Collection[str]) -> Sequence[AddressTotals]:
        """Return what is stored, also by this transaction, of the coins of these addresses."""
        ...

    async def add_found(self, step: Step, *, at: datetime) -> None:
        """Save and tell what was found in blocks that are known."""
        ...

    async def explain(
        self, network: str, explained: Sequence[TrackedMovement], *, at: datetime
    ) -> None:
        """Save and publish the transactions of rises of coins."""
        ...

    async def mark_activated(self, network: str, addresses: Collection[str]) -> None:
        """Mark the addresses as followed from the cursor on, under its lock."""
        ...

    async def mark_counted(self, network: str, counted: CountedAddresses, *, at: datetime) -> None:
        """Record up to which block the coins of addresses were counted, and by when.

        `received` answers from the count before this one, so ask it first.
        """
        ...

    async def mark_seen(self, message_ids: Sequence[UUID]) -> frozenset[UUID]:
        """Put the messages into the inbox and return those that were not there yet."""
        ...

    async def add_targets(self, targets: Sequence[Target]) -> None:
        """Keep the addresses; those that are known stay as they are."""
        ...

    async def add_hints(
        self, hints: Collection[HintedTransaction], *, patience: HintBackoff
    ) -> None:
        """Remember what is to be looked for again; what is remembered stays as it is."""
        ...

    async def repeat_hints(self, *, patience: HintBackoff, limit: int) -> frozenset[str]:
        """Return the networks to look at again; forget what was seen and what took too long."""
        ...

    async def notify_followers(self, networks: Collection[str]) -> None:
        """Wake whoever follows these networks, once the transaction commits."""
        ...


class UnitOfWork(Protocol):
    def __call__(self) -> AbstractAsyncContextManager[Work]:
        """Open one transaction: commit on a clean exit, roll back on any exception."""
        ...


@dataclass(frozen=True, slots=True)
class Unverified:
    """A deposit that one provider has reported."""

    movement: Movement
    provider: str | None


class Watches(Protocol):
    """The stored watches of all networks."""

    async def start(self, network: str, first: Block) -> None:
        """Start a network's cursor after this block, unless it has one."""
        ...

    async def load(self, network: str) -> Watch | None:
        """Return the watch as it was last committed."""
        ...

    async def find_nearest_block(self, network: str, number: int) -> Block | None:
        """Return the highest stored canonical block at or below a number."""
        ...

    async def find_one_provider_end(self, network: str, *, after: int, upto: int) -> Block | None:
        """Return the last stored block of the first run that one provider reported."""
        ...

    async def find_unchecked(
        self, network: str, *, is_halted: bool = False
    ) -> UncheckedRange | None:
        """Return what a second look has to do; nothing while the network is halted.

        With `is_halted`, only while it is.
        """
        ...

    async def list_unverified(
        self, network: str, *, after: int, limit: int
    ) -> Sequence[Unverified]:
        """Return deposits in blocks above a number that need a second provider, oldest first."""
        ...

    async def checked(self, network: str) -> Block | None:
        """Return the last block up to which final blocks were read twice."""
        ...

    async def unverified_rises(
        self, network: str, *, after: int, upto: int, limit: int
    ) -> Sequence[Movement]:
        """Return rises of coins in these blocks that one provider has reported, oldest first."""
        ...

    async def list_logs(
        self, network: str, transaction_hashes: Collection[str]
    ) -> Sequence[TrackedMovement]:
        """Return what was published of the transactions' logs in canonical blocks.

        Reverted ones are included; rises of coins, which are in no log, are not.
        """
        ...

    async def find_halt(self, network: str) -> Halt | None: ...

    async def halt(self, halt: Halt) -> None:
        """Mark a network halted. The first reason stays."""
        ...

    async def find_halt_mark(self, network: str) -> HaltMark | None:
        """Return what a resume compares; None when the network is not halted."""
        ...

    async def is_read(self, network: str) -> bool:
        """Return whether the settler has taken all that was published of the network.

        :raises Unavailable: when its watermark is not readable.
        """
        ...

    async def resume(self, network: str, mark: HaltMark) -> bool:
        """Clear a halt under the cursor's lock, unless it changed or the settler is behind.

        :param mark: from before the checks of the resume.
        :raises Unavailable: when the settler's watermark is not readable.
        """
        ...

    async def list_positions(self) -> Sequence[WatchPosition]: ...


class Trust(Protocol):
    """How far single providers are believed now."""

    async def set_caps(self, policies: Sequence[Policy]) -> None:
        """Store the configured caps in place of those of before."""
        ...

    async def exposures(self) -> Sequence[Exposure]: ...

    async def list_withheld(self) -> Sequence[WithheldDeposits]: ...


@dataclass(frozen=True, slots=True)
class DueAddresses:
    """Whose coins are to be counted now."""

    young: tuple[str, ...]  # with every block
    old: tuple[str, ...]  # some of the others, those that waited longest
    has_new: bool  # whether addresses wait to be taken up
    young_since: datetime  # the young ones were assigned after it
    uncounted: frozenset[str] = frozenset()  # young ones that were never counted

    @property
    def addresses(self) -> tuple[str, ...]:
        return self.young + self.old


class Targets(Protocol):
    """The stored deposit addresses of all networks."""

    async def new(self, network: str, *, limit: int) -> Sequence[Target]:
        """Return the addresses that wait to be taken up."""
        ...

    async def list_active(self, network: str, *, after: int) -> Sequence[tuple[int, str]]:
        """Return the followed addresses with their positions, from behind a position on."""
        ...

    async def load_due(
        self,
        network: str,
        *,
        young_since: datetime,
        young_max: int,
        old_before: datetime,
        old_max: int,
    ) -> DueAddresses:
        """Return what to count now: of the young the newest, of the others some."""
        ...


class Rises(Protocol):
    """The stored rises of coins whose transaction is not known."""

    async def list_without_transaction(
        self, network: str, *, since: datetime, limit: int
    ) -> Sequence[TrackedMovement]:
        """Return those in blocks of this time or later, the newest first."""
        ...

    async def hinted(self, network: str, *, limit: int) -> Sequence[str]:
        """Return the transactions that somebody named and that no movement has yet."""
        ...
