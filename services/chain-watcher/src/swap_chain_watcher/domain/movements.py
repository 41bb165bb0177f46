"""Movements of value as the watcher stores them, and what it has published about each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple
from uuid import UUID, uuid5

from swap_chains.events import Block, LogId

# Never changes: a deposit's id is the same in every process and at any time.
NAMESPACE: Final = UUID("6f1d6f0e-6a0b-5d52-9a53-0d0c2b7c1a58")


@dataclass(frozen=True, slots=True)
class UnverifiedMovement:
    """A deposit or payout that one provider has reported."""

    movement: Movement
    provider: str | None


class Place(NamedTuple):
    """Where a movement stands in a list of the oldest first. Many stand in one block."""

    block_number: int
    block_hash: str
    id: UUID


FROM_THE_START: Final = Place(-1, "", UUID(int=0))


class Kind(StrEnum):
    DEPOSITED = "deposited"
    TOKEN_TRANSFER = "token_transfer"
    NATIVE_RECEIVED = "native_received"
    BALANCE_ROSE = "balance_rose"
    SWEPT = "swept"
    PAID = "paid"
    WITHDRAWN = "withdrawn"


class State(StrEnum):
    """What was last published about a movement."""

    SEEN = "seen"
    CONFIRMED = "confirmed"
    REVERTED = "reverted"


class Quarantine(StrEnum):
    """Why a movement is recorded and can credit nothing."""

    UNKNOWN_TOKEN = "unknown_token"
    FOREIGN_RECEIVER = "foreign_receiver"


@dataclass(frozen=True, slots=True)
class Depth:
    """How final a movement must be, and reported by how many. Fixed when it is first seen."""

    confirmations: int  # at least 1; what is shown where finality rules
    is_finality: bool  # the chain's own finality decides, not the number
    # That must report a deposit or a payout, where so many are configured; 0: the follower's node
    # alone.
    providers: int = 0

    def strictest(self, other: Depth) -> Depth:
        """Return what satisfies both."""
        deepest = max(self, other, key=lambda depth: (depth.is_finality, depth.confirmations))
        return replace(deepest, providers=max(self.providers, other.providers))

    def is_reached(self, block_number: int, *, head: int, finalized: int) -> bool:
        if self.is_finality:
            return block_number <= finalized
        return head - block_number + 1 >= self.confirmations


@dataclass(frozen=True, slots=True)
class Movement:
    """One log, or rise of a watched balance, in one block."""

    id: UUID  # the same in whichever block it is mined
    network: str
    block: Block
    kind: Kind
    transaction_hash: str | None  # None for a rise of a balance until it is found
    token: str
    from_address: str | None
    to_address: str
    base_units: int
    claimed_by: UUID | None = None  # the Depository log that accounts for this receipt
    is_internal: bool = False  # between our own addresses: never a deposit
    total_before: int | None = None  # of a rise: what had come to the address before
    counted_number: int | None = None  # of a rise: an earlier block, at which it was not there
    came_after: datetime | None = None  # of a rise that may be of another block: before all of them
    paid_id: int | None = None
    sequence_number: int | None = None
    memo: str | None = None
    quarantine: Quarantine | None = None

    @property
    def is_published(self) -> bool:
        """Whether it is published: once per movement of value, by its most informative log."""
        if self.kind in (Kind.SWEPT, Kind.WITHDRAWN):
            return True  # no deposit, but the ledger moves with it
        return self.claimed_by is None and not self.is_internal

    @property
    def key(self) -> tuple[str, UUID]:
        """Return its place: block and movement."""
        return self.block.hash, self.id

    @property
    def place(self) -> Place:
        return Place(self.block.number, self.block.hash, self.id)

    @property
    def total_after(self) -> int:
        """What had come to the address in all, with this rise."""
        assert self.total_before is not None, "a rise has a total before it"
        return self.total_before + self.base_units

    @property
    def evidence(self) -> tuple[object, ...]:
        """What two providers must report alike: sender, recipient, amount and memo."""
        value = self.token, self.base_units, self.from_address, self.to_address
        purpose = self.sequence_number, self.memo, self.paid_id
        return (self.id, self.kind, *value, *purpose, self.quarantine)

    @property
    def subject(self) -> Subject:
        """What the versions count: a deposit, or an intent however often it is mined."""
        return self.id if self.paid_id is None else self.paid_id


Subject = UUID | int


@dataclass(frozen=True, slots=True)
class TrackedMovement:
    """A movement with the last word published about it."""

    movement: Movement
    depth: Depth | None = None  # None: nothing is ever published
    version: int = 0
    state: State | None = None
    is_verified: bool = False  # a second provider reports it
    is_withheld: bool = False  # deep enough, but a second provider has not confirmed it

    @property
    def key(self) -> tuple[str, UUID]:
        """Return its place: block and movement."""
        return self.movement.key

    @property
    def awaits_second_provider(self) -> bool:
        is_open = self.state is State.SEEN and not self.is_verified
        return is_open and self.depth is not None and self.depth.providers > 1

    def with_state(self, state: State) -> TrackedMovement:
        return replace(self, state=state, version=self.version + 1)


@dataclass(frozen=True, slots=True)
class PublishedVersion:
    """The last version published about a subject, in whatever block it was."""

    version: int
    depth: Depth


@lru_cache(maxsize=10_000)  # compared again for every movement of a block, and at the second look
def movement_id(network: str, log: LogId) -> UUID:
    """Return the identity of a log: a re-mining changes its block and its index, but not this."""
    return uuid5(NAMESPACE, f"{network}/{log.transaction_hash}/{log.fingerprint}/{log.nth}")


def rise_id(network: str, address: str, before: int, upto: int) -> UUID:
    """Return the identity of a rise of an address's coins, which has no log.

    It is named by what had come there before it and with it, so that it has one amount for ever.
    """
    return uuid5(NAMESPACE, f"{network}/{address}/{before}-{upto}")
