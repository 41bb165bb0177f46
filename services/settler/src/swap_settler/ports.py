"""What the settler needs from the outside, in its own words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from swap_contracts.quoting import QuoteAnswer, QuoteQuestion
from swap_domain.lifecycle import Status
from swap_runtime.outbox import Outgoing
from swap_settler.batch_ports import BatchWork
from swap_settler.domain.chain_facts import SweptFact, Withdrawal
from swap_settler.domain.changes import Changes
from swap_settler.domain.claims import Claimable
from swap_settler.domain.dwelling import Silences, Stuck
from swap_settler.domain.inventory import AssetKey, Inventory
from swap_settler.domain.partner_fees import PartnerFee
from swap_settler.domain.requotes import Refused
from swap_settler.domain.signer import Signer, Stop
from swap_settler.domain.stored_sweeps import DueSweep, Unbooked
from swap_settler.domain.swap import Deposit, Intent, Leg, Swap

Place = tuple[str, str]  # network, address


class Work(BatchWork, Protocol):
    """One open transaction. Nothing outside the database is called while it lasts.

    Locks are taken in the order of the methods below, and each method at most once: keys, swaps
    with their intents, inventory; `flush` takes accounts last. Who opens a batch has the first two.
    """

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


class SweepWork(Work, Protocol):
    """A settler's transaction in which sweeps of deposit addresses are ordered or booked."""

    async def addresses_without_swap(self, network: str, *, limit: int) -> frozenset[Place]:
        """Return from where the first final sweeps came that are not booked, and no swap has."""
        ...

    async def confirm_sweeps(self, network: str) -> None:
        """Mark our sweeps confirmed that are final, and whose bookings are made."""
        ...

    async def lock_due_sweeps(self, network: str, *, limit: int) -> Sequence[DueSweep]:
        """Load what is due at deposit addresses; what somebody else holds is left."""
        ...

    async def order_sweeps(self, ordered: Mapping[UUID, DueSweep]) -> None:
        """Say what intents are to empty, and forget that it is due. After the flush of them."""
        ...

    async def settle_sweeps_due(
        self, done: Sequence[DueSweep], again: Sequence[DueSweep], *, pause: timedelta
    ) -> None:
        """Forget what is not due any more, and let wait what is not worth it now."""
        ...


class SweepUnitOfWork(Protocol):
    def __call__(self) -> AbstractAsyncContextManager[SweepWork]: ...


class ClaimWork(Work, Protocol):
    """A settler's transaction in which an operator orders what becomes of a claimable balance."""

    async def claimable(self, id: int) -> Claimable | None:
        """Return a balance that waits for its owner. Whoever holds its swap or key, holds it."""
        ...

    async def store_order(self, intent_id: UUID, *, by: str, reason: str) -> None:
        """Keep who ordered a payment, and why, with it. After the flush."""
        ...


class ClaimUnitOfWork(Protocol):
    def __call__(self) -> AbstractAsyncContextManager[ClaimWork]: ...


class FeeWork(Work, Protocol):
    """A settler's transaction in which an operator orders that a partner's fees are paid."""

    async def fees(self, *, limit: int) -> Sequence[PartnerFee]: ...

    async def asset_of_fee(self, id: int) -> AssetKey | None:
        """Return what a partner's fee is in. Locks nothing."""
        ...

    async def lock_fee(self, id: int) -> PartnerFee | None: ...

    async def store_order(self, intent_id: UUID, *, by: str, reason: str) -> None:
        """Keep who ordered a payment, and why, with it. After the flush."""
        ...


class FeeUnitOfWork(Protocol):
    def __call__(self) -> AbstractAsyncContextManager[FeeWork]: ...


class UnitOfWork(Protocol):
    def __call__(self) -> AbstractAsyncContextManager[Work]:
        """Open one transaction: commit on a clean exit, roll back on any exception.

        :raises Unavailable: when the database is away or the transaction lost a race.
        """
        ...


@dataclass(frozen=True, slots=True)
class DueRefund:
    """A leg whose refund is to be worked out."""

    id: int
    swap_id: UUID
    leg: Leg
    waited: timedelta = timedelta(0)


class DueSweeps(Protocol):
    """What stands at deposit addresses. Locks nothing."""

    async def has_due(self, network: str) -> bool: ...

    async def has_unbooked(self, network: str) -> bool:
        """Whether final sweeps wait to be booked, or ours to be confirmed."""
        ...


class DataFee(Protocol):
    async def upper_bound(self) -> int:
        """Return the most that a rollup charges now for the bytes of one transaction.

        :raises ChainError: when no node tells it.
        """
        ...


class DueRefunds(Protocol):
    """The refunds that wait to be worked out. Locks nothing."""

    async def due(self, network: str, *, limit: int) -> Sequence[DueRefund]:
        """Return the legs with money of a network, the longest due first."""
        ...


@dataclass(frozen=True, slots=True)
class DueRequote:
    """A swap that holds something else than it was quoted for."""

    swap_id: UUID
    waited: timedelta  # since it holds that


class DueRequotes(Protocol):
    """The swaps whose requote waits. Locks nothing."""

    async def due(self, *, limit: int) -> Sequence[DueRequote]:
        """Return the swaps to ask about now, the longest due first."""
        ...


class Dwelling(Protocol):
    """What is where it is for too long. Locks nothing."""

    async def stuck(self, bounds: Mapping[Status, timedelta], *, limit: int) -> Sequence[Stuck]:
        """Return the swaps beyond the bounds of their status, the longest first."""
        ...

    async def mark_silences(self, silent_after: timedelta) -> Silences:
        """Keep since when a network makes no blocks, and until when it made none."""
        ...

    async def report(self, stuck: Mapping[str, int]) -> None:
        """Let others see how many there are, by source network; of one not named there is none."""
        ...

    async def unsent(self, dwell: timedelta, *, limit: int) -> Mapping[UUID, UUID]:
        """Return the payments (with their swaps) of main legs that wait longer than they may."""
        ...


class Pricing(Protocol):
    """The quoter."""

    async def quote(self, question: QuoteQuestion) -> QuoteAnswer | Refused:
        """Return what it offers, or why nothing; a quoter that is away gives no answer."""
        ...


class Withdrawals(Protocol):
    """What the owner took out. Locks nothing."""

    async def has_unbooked(self) -> bool:
        """Whether a final one is not in the ledger."""
        ...


Record = Mapping[str, object]  # as an operator reads it: amounts are digits


class Records(Protocol):
    """What an operator may look at. Locks nothing."""

    async def find_swap(self, swap_id: UUID) -> Record | None:
        """Return a swap with its history, deposits, intents with their attempts, and postings.

        With what took the ids of its payments without us, as it was explained.
        """
        ...

    async def list_claimable(self, *, limit: int) -> Sequence[Record]:
        """Return the balances that wait for their owners, and those in suspense; oldest first."""
        ...


class Stops(Protocol):
    """The kill switch: while it is on for a network, or for all, nothing is signed there."""

    async def list_stops(self) -> Sequence[Stop]:
        """Return those that are on."""
        ...

    async def list_halts(self) -> Sequence[Stop]:
        """Return the networks that the watcher halted, which stops them as well."""
        ...

    async def stop(self, network: str, *, by: str, reason: str) -> bool:
        """Switch on: what reads it from now on signs no more. False if it was on."""
        ...

    async def rounds_have_ended(self, network: str) -> bool:
        """Wait for those that had read it before it was on; False when one takes too long."""
        ...

    async def lift(self, network: str, *, by: str, reason: str) -> bool:
        """Switch off. False if it was not on."""
        ...


class Signers(Protocol):
    """The signers of all lanes, as an operator looks after them."""

    async def list_signers(self) -> Sequence[Signer]: ...

    async def resume(self, halted: Sequence[Signer], *, by: str, reason: str) -> frozenset[str]:
        """Let signers go on that are halted still, for the reason they were listed with.

        Keep who did it and why, and return the addresses of those that go on.
        """
        ...
