"""What operators' orders need of the outside: caps, who must not be paid, sweeps."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from swap_chains.ports import ReportedTransfer
from swap_settler.domain.caps import CapState, QueuedPayment
from swap_settler.domain.inventory import AssetKey
from swap_settler.domain.signer import Blocked, Stop
from swap_settler.domain.stakes import CapLimit


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
