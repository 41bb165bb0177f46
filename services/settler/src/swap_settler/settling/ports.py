"""What settling needs of the quoter, of work that is due, and of a transaction."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from swap_contracts.quoting import QuoteAnswer, QuoteQuestion
from swap_settler.model.chain_facts import SweptFact
from swap_settler.model.ledger.inventory import AssetKey
from swap_settler.model.ports import (
    OpenedDeposits,
    OpenedPayouts,
    OpenedRequests,
    PaymentKey,
    Place,
    Work,
)
from swap_settler.model.swap import Deposit, Leg, Swap
from swap_settler.model.treasury import UnbookedSweep, Withdrawal
from swap_settler.settling.decide.requotes import RequoteRefusal


@dataclass(frozen=True, slots=True)
class DueRefund:
    """A leg with a refund to be computed."""

    id: int
    swap_id: UUID
    leg: Leg
    waited: timedelta = timedelta(0)


class DataFee(Protocol):
    async def upper_bound(self) -> int:
        """Return the most that a rollup charges now for the bytes of one transaction.

        :raises ChainError: when no node reports it.
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
    """The swaps with a due requote. Locks nothing."""

    async def due(self, *, limit: int) -> Sequence[DueRequote]:
        """Return the swaps to ask about now, the longest due first."""
        ...


class Pricing(Protocol):
    """The quoter."""

    async def quote(self, question: QuoteQuestion) -> QuoteAnswer | RequoteRefusal:
        """Return its offer, or why there is none; `NO_ANSWER` when it is unavailable."""
        ...


class MatchingWork(Work, Protocol):
    """A transaction that brings swaps and deposits together."""

    async def unmatched_deposits(
        self, ids: Collection[UUID], match_keys: Collection[str]
    ) -> Mapping[UUID, Deposit]:
        """Load the deposits without a swap that have one of the ids or one of the match keys."""
        ...

    async def live_standalone_intents(self, deposit_ids: Collection[UUID]) -> Mapping[UUID, UUID]:
        """Return the live intents that pay deposits without a swap, by deposit. Locks nothing."""
        ...


class AttachingWork(Work, Protocol):
    """A transaction that may give a swap a deposit that names none."""

    async def store_attachment(self, deposit_id: UUID, *, by: str, because: str) -> None:
        """Store who attached a deposit, and the evidence. After the flush."""
        ...


class RequestWork(AttachingWork, MatchingWork, Protocol):
    """A transaction that applies requests for swaps."""

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

    async def reverted_relays(self, signers: Collection[str]) -> Mapping[str, int]:
        """Return how many deposits of each signer failed on a chain within a day."""
        ...

    async def take_over_swept(self, places: Collection[Place]) -> Sequence[UnbookedSweep]:
        """Return sweeps from these addresses that were booked without a swap, to rebook them."""
        ...


class DepositWork(MatchingWork, Protocol):
    """A transaction that applies facts about deposits, sweeps and withdrawals."""

    async def open_deposits(
        self,
        message_ids: Sequence[UUID],
        *,
        keys: Collection[str],
        deposit_ids: Collection[UUID],
        assets: Collection[AssetKey] = (),
    ) -> OpenedDeposits:
        """Hold the keys, and load the swaps of them and those that have the deposits.

        The keys order the creation of a swap and its deposits. A deposit's own key is among them:
        it is not attached meanwhile.

        :param assets: that the deposits move. Where there are some, the inventory of them and of
            the swaps is locked too, so that `lock_inventory` has it at hand.
        """
        ...

    async def numbers_at(self, places: Collection[Place]) -> Mapping[Place, int]:
        """Return the sequence numbers of the swaps of deposit addresses (network and address)."""
        ...

    async def save_swept(self, swept: Sequence[SweptFact]) -> None:
        """Save newer versions of sweeps, and the states of our own with them."""
        ...

    async def save_withdrawals(self, withdrawals: Sequence[Withdrawal]) -> None:
        """Save newer versions of withdrawals."""
        ...


class PayoutWork(Work, Protocol):
    """A transaction that applies facts about payouts."""

    async def open_payouts(
        self, message_ids: Sequence[UUID], *, payments: Collection[PaymentKey]
    ) -> OpenedPayouts:
        """Find the payments with these ids at the Treasury. Locks nothing but the messages."""
        ...


class ExpiryWork(Work, Protocol):
    """A transaction that ends swaps after their deadline."""

    async def lock_expiring(self, now: datetime, *, limit: int) -> Sequence[Swap]:
        """Load swaps with a deadline that passed on the service's clock and on the source network.

        Every message of the watcher up to that block has been processed, and no deposit is open.
        Locked swaps are left to the next round.
        """
        ...


class RefundWork(Work, Protocol):
    """A transaction that works refunds out."""

    async def postpone_refunds(self, ids: Sequence[int], *, pause: timedelta) -> None:
        """Postpone refunds that cannot be paid yet."""
        ...

    async def drop_refunds_due(self, ids: Sequence[int]) -> None:
        """Delete rows of due refunds that this transaction decides."""
        ...


class RequoteWork(Work, Protocol):
    """A transaction that applies answers of the quoter."""

    async def settle_requotes_due(
        self, done: Sequence[UUID], again: Sequence[UUID], *, pause: timedelta
    ) -> None:
        """Delete the rows of decided swaps; requote the others after a pause."""
        ...


class CompletionWork(Work, Protocol):
    """A transaction that ends swaps without their refuel."""

    async def lock_overdue(self, now: datetime, *, limit: int) -> Sequence[Swap]:
        """Load swaps that have waited long enough for their refuel to leave.

        Locked swaps are left to the next round.
        """
        ...

    async def refuels_in_doubt(self, swap_ids: Collection[UUID]) -> Collection[UUID]:
        """Return the swaps with a refuel that the chain may have paid, but the ledger has not."""
        ...

    async def drop_completions_due(self, ids: Sequence[UUID]) -> None:
        """Delete that these wait for their refuel: this transaction decides about it."""
        ...
