"""What the settler needs from the outside, in its own words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from swap_runtime.messaging.outbox import Outgoing
from swap_settler.model.chain_facts import SweptFact
from swap_settler.model.changes import Changes
from swap_settler.model.ledger.inventory import AssetKey, Inventory
from swap_settler.model.swap import Deposit, Intent, Swap
from swap_settler.model.treasury import Unbooked, Withdrawal

Place = tuple[str, str]  # network, address


PaymentKey = tuple[str, int]  # network, paid_id


@dataclass(frozen=True, slots=True)
class OpenedDeposits:
    fresh: frozenset[UUID]  # the messages that were not seen before
    swaps: Mapping[str, Swap]  # by match key
    held: frozenset[UUID] = frozenset()  # those of the swaps that a recovery holds


@dataclass(frozen=True, slots=True)
class OpenedPayouts:
    fresh: frozenset[UUID]
    owners: Mapping[PaymentKey, UUID]  # the swaps whose live intents have these ids
    standalone_intents: Mapping[PaymentKey, UUID]  # the live intents of no swap


@dataclass(frozen=True, slots=True)
class OpenedRequests:
    fresh: frozenset[UUID]
    swaps: Mapping[UUID, Swap]
    waiting: Mapping[UUID, Deposit]  # without a swap


class Work(Protocol):
    """One open transaction. Nothing outside the database is called while it lasts.

    A batch of messages begins with one of the `open` methods: one round trip marks the messages,
    holds what they are about, and loads it. Only the answer says which were seen before, so the
    locks of those are held as well. Every other lock has a method that is called at most once, in
    this order: keys, swaps with their intents, inventory; `flush` locks accounts last.
    """

    async def open_deposits(
        self,
        message_ids: Sequence[UUID],
        *,
        keys: Collection[str],
        deposit_ids: Collection[UUID],
        assets: Collection[AssetKey] = (),
    ) -> OpenedDeposits:
        """Hold the keys, and load the swaps of them and those that have the deposits.

        Who creates a swap waits for who brings its deposit. A deposit's own key is among the keys:
        it is not attached meanwhile.

        :param assets: that the deposits move. Where there are some, the inventory of them and of
            the swaps is locked too, so that `lock_inventory` has it at hand.
        """
        ...

    async def open_payouts(
        self, message_ids: Sequence[UUID], *, payments: Collection[PaymentKey]
    ) -> OpenedPayouts:
        """Find whose payments have these ids at the Treasury. Locks nothing but the messages."""
        ...

    async def open_requests(
        self,
        message_ids: Sequence[UUID],
        *,
        keys: Collection[str],
        swap_ids: Collection[UUID],
        deposit_ids: Collection[UUID],
    ) -> OpenedRequests:
        """Hold the keys, and load these swaps, and the deposits without one.

        Those are the deposits with one of the ids or one of the keys.
        """
        ...

    async def lock_keys(self, keys: Collection[str]) -> None:
        """Hold the keys until the end: who creates a swap waits for who brings its deposit."""
        ...

    async def lock_swaps_by_id(self, ids: Collection[UUID]) -> Mapping[UUID, Swap]:
        """Load swaps, locked in the order of their ids, each with its deposits and intents.

        An intent comes with the attempts that were committed before its lock was got.
        """
        ...

    async def lock_expiring(self, now: datetime, *, limit: int) -> Sequence[Swap]:
        """Load swaps whose deadline passed on our clock and on the source network.

        Nothing the watcher said up to that block may be unheard, and no deposit may be open.
        A swap that somebody else holds is left to the next round.
        """
        ...

    async def swaps_with_lapsed(self, now: datetime, *, limit: int) -> Sequence[UUID]:
        """Return the swaps with a signature too old to be relayed. Locks nothing."""
        ...

    async def reverted_relays(self, signers: Collection[str]) -> Mapping[str, int]:
        """Return how many deposits of each signer failed on a chain within a day."""
        ...

    async def unmatched_deposits(
        self, ids: Collection[UUID], match_keys: Collection[str]
    ) -> Mapping[UUID, Deposit]:
        """Load the deposits without a swap that have one of the ids or one of the match keys."""
        ...

    async def store_attachment(self, deposit_id: UUID, *, by: str, because: str) -> None:
        """Keep who said whose a deposit is, and what proves it. After the flush."""
        ...

    async def live_standalone_intents(self, deposit_ids: Collection[UUID]) -> Mapping[UUID, UUID]:
        """Return the live intents that pay deposits without a swap, by deposit. Locks nothing."""
        ...

    async def lock_standalone_intents(self, ids: Collection[UUID]) -> Mapping[UUID, Intent]:
        """Load live intents without a swap, locked in the order of their ids, after all swaps."""
        ...

    async def lock_inventory(self, assets: Collection[AssetKey]) -> Mapping[AssetKey, Inventory]:
        """Load the rows of the assets, made where missing, locked in the order of their names."""
        ...

    async def numbers_at(self, places: Collection[Place]) -> Mapping[Place, int]:
        """Return whose deposit addresses (network and address) these are, by sequence number."""
        ...

    async def save_swept(self, swept: Sequence[SweptFact]) -> None:
        """Save what is newer than what is known of sweeps, and how far ours are with it."""
        ...

    async def lock_unbooked_sweeps(self, network: str, *, limit: int) -> Sequence[Unbooked]:
        """Load the final sweeps that the ledger does not have and that nothing is missing of;
        those somebody holds are left.
        """
        ...

    async def take_over_swept(self, places: Collection[Place]) -> Sequence[Unbooked]:
        """Return what was booked as nobody's from these addresses; it is to be booked again."""
        ...

    async def mark_swept_booked(self, booked: Mapping[UUID, bool]) -> None:
        """Keep that sweeps are booked, and whether as nobody's."""
        ...

    async def save_withdrawn(self, withdrawn: Sequence[Withdrawal]) -> None:
        """Save what is newer than what is known of withdrawals."""
        ...

    async def lock_unbooked_withdrawals(self, *, limit: int) -> Sequence[Withdrawal]:
        """Load the final withdrawals that the ledger does not have, by block; those that somebody
        holds are left.
        """
        ...

    async def mark_withdrawals_booked(self, ids: Sequence[UUID]) -> None: ...

    async def postpone_refunds(self, ids: Sequence[int], *, pause: timedelta) -> None:
        """Let refunds wait that cannot be paid yet."""
        ...

    async def drop_refunds_due(self, ids: Sequence[int]) -> None:
        """Forget what was due: it is decided about in this transaction."""
        ...

    async def settle_requotes_due(
        self, done: Sequence[UUID], again: Sequence[UUID], *, pause: timedelta
    ) -> None:
        """Forget the swaps that were decided about; ask about the others after a pause."""
        ...

    async def lock_overdue(self, now: datetime, *, limit: int) -> Sequence[Swap]:
        """Load swaps that have waited long enough for their refuel to leave.

        A swap that somebody else holds is left to the next round.
        """
        ...

    async def refuels_in_doubt(self, swap_ids: Collection[UUID]) -> Collection[UUID]:
        """Return the swaps whose refuel the chain may know as paid, and the ledger does not."""
        ...

    async def drop_completions_due(self, ids: Sequence[UUID]) -> None:
        """Forget that these wait for their refuel: it is decided about in this transaction."""
        ...

    async def flush(self, changes: Sequence[Changes], outgoing: Sequence[Outgoing]) -> None:
        """Save all changes and messages, one statement per table.

        Of an intent that exists only what this room decides is written: state, what was mined,
        version, death. Bookings move balances, and inventory that was locked before.
        """
        ...


class UnitOfWork(Protocol):
    def __call__(self) -> AbstractAsyncContextManager[Work]:
        """Open one transaction: commit on a clean exit, roll back on any exception.

        :raises Unavailable: when the database is away or the transaction lost a race.
        """
        ...
