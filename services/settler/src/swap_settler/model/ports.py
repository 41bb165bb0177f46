"""One open transaction of the settler: what every use case needs of it.

A package adds what its own use cases call, in its `ports.py`. On Postgres all of it is
`store/unit_of_work.py`, in memory `tests/fakes.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, TypeVar
from uuid import UUID

from swap_runtime.messaging.outbox import Outgoing
from swap_settler.model.changes import Changes
from swap_settler.model.ledger.inventory import AssetKey, Inventory
from swap_settler.model.swap import Deposit, Intent, Swap

Place = tuple[str, str]  # network, address
PaymentKey = tuple[str, int]  # network, paid_id
Opened_co = TypeVar("Opened_co", covariant=True)


@dataclass(frozen=True, slots=True)
class OpenedDeposits:
    fresh: frozenset[UUID]  # the messages that were not seen before
    swaps: Mapping[str, Swap]  # by match key
    held: frozenset[UUID] = frozenset()  # those of the swaps that a recovery holds


@dataclass(frozen=True, slots=True)
class OpenedPayouts:
    fresh: frozenset[UUID]
    owners: Mapping[PaymentKey, UUID]  # the swaps with live intents with these ids
    standalone_intents: Mapping[PaymentKey, UUID]  # the live intents of no swap


@dataclass(frozen=True, slots=True)
class OpenedRequests:
    fresh: frozenset[UUID]
    swaps: Mapping[UUID, Swap]
    waiting: Mapping[UUID, Deposit]  # without a swap


class Work(Protocol):
    """One open transaction. Nothing outside the database is called while it lasts.

    A batch of messages begins with an `open` method of its package. One round trip marks the
    messages, locks their rows, and loads them. Only the answer shows which were seen before,
    so the locks of those are held as well. Every other lock has a method that is called at most
    once, in this order: keys, swaps with their intents, inventory; `flush` locks accounts last.
    """

    async def lock_swaps_by_id(self, ids: Collection[UUID]) -> Mapping[UUID, Swap]:
        """Load swaps, locked in the order of their ids, each with its deposits and intents.

        An intent comes with the attempts that were committed before its lock was got.
        """
        ...

    async def lock_standalone_intents(self, ids: Collection[UUID]) -> Mapping[UUID, Intent]:
        """Load live intents without a swap, locked in the order of their ids, after all swaps."""
        ...

    async def lock_inventory(self, assets: Collection[AssetKey]) -> Mapping[AssetKey, Inventory]:
        """Load the rows of the assets, made where missing, locked in the order of their names."""
        ...

    async def flush(self, changes: Sequence[Changes], outgoing: Sequence[Outgoing]) -> None:
        """Save all changes and messages, one statement per table.

        Of an intent that exists, only what this package decides is written: state, what was
        mined, version, death. Bookings move balances, and inventory that was locked before.
        """
        ...


class UnitOfWork(Protocol[Opened_co]):
    """Opens transactions with the methods that a use case calls."""

    def __call__(self) -> AbstractAsyncContextManager[Opened_co]:
        """Open one transaction: commit on a clean exit, roll back on any exception.

        :raises Unavailable: when the database is away or the transaction lost a race.
        """
        ...
