"""What operators' orders need of the outside: caps, who must not be paid, sweeps."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from swap_chains.ports import ReportedTransfer
from swap_settler.model.chain_facts import PayoutFact
from swap_settler.model.ledger.inventory import AssetKey
from swap_settler.model.ports import Work
from swap_settler.operator.decide.backlog import Backlog, Cover
from swap_settler.operator.decide.claims import Claimable
from swap_settler.operator.decide.external_nonces import OpenNonce
from swap_settler.operator.decide.partner_fees import PartnerFee
from swap_settler.operator.decide.signer import Blocked, Signer, Stop
from swap_settler.operator.decide.stakes import Amount, CapLimit
from swap_settler.paying.decide.caps import CapState, QueuedPayment
from swap_settler.paying.ports import LaneWork, Owners
from swap_settler.recovery.decide.recovery import PaymentId


class Caps(Protocol):
    """How much may leave in a while, and what waits for it."""

    async def list_caps(self) -> Sequence[CapState]: ...

    async def set_cap(
        self,
        network: str,
        token: str | None,
        app_id: UUID | None,
        *,
        limit: CapLimit,
        may_raise: bool,
        by: str,
        reason: str,
    ) -> bool:
        """False if it would be raised and may not."""
        ...

    async def lift_cap(
        self, network: str, token: str | None, app_id: UUID | None, *, by: str, reason: str
    ) -> bool:
        """False if there is none."""
        ...

    async def list_queued(self, *, limit: int) -> Sequence[QueuedPayment]:
        """Return the payments that wait for their turn, the longest waiting first."""
        ...

    async def queues(self) -> Mapping[str, tuple[int, timedelta]]:
        """Return how many wait on each network, and how long the first one does."""
        ...

    async def grant_pass(self, intent_id: UUID, *, by: str, reason: str) -> bool:
        """False if it waits for no cap."""
        ...


class Backlogs(Protocol):
    """What waits to be paid, and what covers it. Locks nothing."""

    async def unsettled(self) -> Sequence[Backlog]:
        """Return the booked deposits of swaps without an end, by source network."""
        ...

    async def refunds(self) -> Sequence[Backlog]:
        """Return the refunds that are not final, by network."""
        ...

    async def covers(self) -> Sequence[Cover]:
        """Return what is held and owed of each asset, and what the Treasury had of it."""
        ...


class Prices(Protocol):
    """What tokens are worth now."""

    async def current(self) -> Mapping[AssetKey, int]:
        """Return every fresh price, in dollars × 10^18 for one whole token.

        Empty while the quoter does not answer.
        """
        ...


class BlockedAddresses(Protocol):
    """Who must not be paid, by an operator's word."""

    async def list_blocked(self, *, limit: int) -> Sequence[Blocked]: ...

    async def block(
        self, addresses: Sequence[str], network: str | None, *, by: str, reason: str
    ) -> int:
        """Return how many were not on the list."""
        ...

    async def lift(
        self, addresses: Sequence[str], network: str | None, *, by: str, reason: str
    ) -> int:
        """Return how many were on it."""
        ...


class SweepOrders(Protocol):
    async def order(self, network: str, address: str, token: str) -> bool:
        """Have what stands at a deposit address swept. False if nothing of it does."""
        ...


@dataclass(frozen=True, slots=True)
class Lost:
    """What counts still of what reorgs of a network have taken, in millionths of a dollar."""

    usd_micros: int
    last_lifted: int | None  # the stop that was lifted last when it was counted


class Losses(Protocol):
    """What reorgs have taken after it was paid for, and where that stopped payments."""

    async def lost(self, span: timedelta) -> Mapping[str, Lost]:
        """Return it by network: what counts still, of so long."""
        ...

    async def list_stops(self) -> Sequence[Stop]: ...

    async def stop(self, network: str, *, because: str, last_lifted: int | None) -> bool:
        """Have nothing paid any more for what came from there.

        False if it was so, or if a later stop than `last_lifted` was lifted: it is forgiven.
        """
        ...

    async def lift(self, network: str, *, by: str, reason: str) -> bool:
        """False if it was not stopped."""
        ...


@dataclass(frozen=True, slots=True)
class UnmatchedDeposit:
    """A deposit that no swap has."""

    token: str
    to_address: str
    base_units: int
    state: str
    quarantine_reason: str | None
    claimable_id: int | None  # of the balance that waits for its owner


@dataclass(frozen=True, slots=True)
class ReturnOrder:
    """An operator's word to whom a token that no catalogue knows goes back."""

    token: str
    from_address: str
    to_address: str
    base_units: int
    returned_to: str
    by: str
    reason: str
    at: datetime


class Rescues(Protocol):
    """What came to our addresses and no swap has."""

    async def deposit_addresses(
        self, network: str, addresses: Collection[str]
    ) -> Mapping[str, int]:
        """Return the numbers of the swaps whose deposit addresses are among these."""
        ...

    async def unmatched_deposits(
        self, network: str, transaction_hash: str
    ) -> Sequence[UnmatchedDeposit]: ...

    async def ordered(self, network: str, transaction_hash: str) -> Sequence[ReturnOrder]:
        """Return what was ordered of a transaction before, oldest first."""
        ...

    async def order(
        self,
        network: str,
        transaction_hash: str,
        transfers: Sequence[ReportedTransfer],
        *,
        returned_to: str,
        by: str,
        reason: str,
    ) -> None: ...


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


class Stakes(Protocol):
    async def claimable(self, id: int) -> Amount | None:
        """Return a balance that waits for its owner."""
        ...

    async def partner_fee(self, id: int) -> Amount | None:
        """Return what is owed to an app, whatever part of it is paid."""
        ...

    async def payment(self, id: UUID) -> Amount | None: ...

    async def inventory(self) -> Sequence[Amount]:
        """Return what the Treasuries hold by the ledger, of all networks."""
        ...

    async def cap(self, network: str, token: str | None, app_id: UUID | None) -> CapLimit | None:
        """Return a cap; None when nothing is capped there."""
        ...


class ExternalNonces(Protocol):
    """What the ledger has of nonces that others may have used. Locks nothing."""

    async def is_network_halted(self, network: str) -> bool: ...

    async def open_below(self, signer: Signer, nonce: int) -> Sequence[OpenNonce]: ...

    async def consumed(self, signer: Signer, nonces: Collection[int]) -> Mapping[int, str]:
        """Return by which transactions nonces were consumed, of those that are closed."""
        ...

    async def signed_here(self, transaction_hashes: Collection[str]) -> frozenset[str]:
        """Return those that were signed here."""
        ...

    async def balance(self, signer: Signer, native: str) -> int:
        """Return what the ledger says that a signer holds."""
        ...


class ExternalNonceWork(LaneWork, Protocol):
    """A transaction that closes nonces which somebody else used, of a signer that is halted."""

    async def lock_open(self, nonces: Collection[int]) -> bool:
        """Hold these nonces. False if one is closed. After the locks of swaps and intents."""
        ...

    async def lock_halted(self, signer: Signer) -> bool:
        """Hold the signer. False if it is not halted as it was looked at. After all other locks."""
        ...

    async def skip_nonces(self, signer: Signer, nonces: Collection[int]) -> None:
        """Have the next nonces handed out to nothing: the chain is past them."""
        ...

    async def add_external_transactions(
        self, named: Mapping[int, tuple[str, int]], *, by: str, reason: str
    ) -> None:
        """Keep who said which transaction used each nonce, and what it took."""
        ...


class ExternalNonceUnitOfWork(Protocol):
    def __call__(self, signer: Signer) -> AbstractAsyncContextManager[ExternalNonceWork]: ...


class ReconciledEnd(StrEnum):
    """What becomes of such a payment."""

    MADE = "made"  # as it was ordered
    FAILED = "failed"  # its id was spent on something else: its money is claimable
    LEFT = "left"  # people settle it


@dataclass(frozen=True, slots=True)
class ExternalPayment:
    """A payment whose id the Treasury took by what was not signed here."""

    intent_id: UUID
    swap_id: UUID | None
    log: PayoutFact
    end: ReconciledEnd


class ExternalPaymentWork(Work, Protocol):
    """A settler's transaction in which an operator tells the ends of such payments."""

    async def payments_of(self, network: str, paid_ids: Collection[int]) -> Owners:
        """Return the live payments that have these ids at the Treasury. Locks nothing."""
        ...

    async def forgotten_payments(
        self, network: str, paid_ids: Collection[int]
    ) -> Sequence[PaymentId]:
        """Return the payments of swaps, and of deposits without one, that an ended recovery found
        to have these ids; with all others that were found of the same swaps. Locks nothing.
        """
        ...

    async def claimable_of(
        self, asset: AssetKey, *, swap_id: UUID | None, deposit_id: UUID | None
    ) -> Claimable | None:
        """Return what is claimable of a swap on a leg, or of a deposit without a swap.

        Its swap or key is held.
        """
        ...

    async def unreconciled(
        self, network: str, transaction_hash: str, paid_ids: Collection[int]
    ) -> frozenset[int]:
        """Return the ids that the transaction paid and that are booked as nothing explains them."""
        ...

    async def add_external_payments(
        self, payments: Sequence[ExternalPayment], *, by: str, reason: str
    ) -> None:
        """Keep what took each id, and who named it and why. Before the flush."""
        ...


class ExternalPaymentUnitOfWork(Protocol):
    def __call__(self) -> AbstractAsyncContextManager[ExternalPaymentWork]: ...
