"""What is looked up in the views of other services: a swap's past, and how networks are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from swap_chains.evm.transaction_lookup import LocatedTransaction
from swap_domain.catalogue import Network


@dataclass(frozen=True, slots=True)
class SwapEvent:
    sequence: int
    from_status: str | None
    to_status: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Posting:
    """One line of a swap's ledger; the lines of a transaction follow each other."""

    transaction_id: UUID
    reason: str
    at: datetime
    network: str | None
    block_number: int | None
    account: str
    asset_network: str
    asset_token: str
    base_units: int


class History(Protocol):
    """What the settler shows of a swap's past."""

    async def events(self, swap_id: UUID) -> Sequence[SwapEvent]:
        """Return everything that happened so far, the oldest first.

        :raises Unavailable: when Postgres is away.
        """
        ...

    async def postings(self, swap_id: UUID) -> Sequence[Posting]:
        """Return everything booked so far, the oldest first.

        :raises Unavailable: when Postgres is away.
        """
        ...


@dataclass(frozen=True, slots=True)
class OneProviderCap:
    """What one provider's report may confirm of a token, and has confirmed."""

    token: str
    cap_base_units: int
    used_base_units: int


@dataclass(frozen=True, slots=True)
class NetworkState:
    """What is known of a network; nothing of it need be."""

    head: int | None = None
    head_at: datetime | None = None
    tokens: int = 0  # that were ever held there
    payable_tokens: int = 0  # of which something can be paid
    stuck_swaps: int | None = None
    is_stopped: bool = False
    providers: int = 1  # independent ones of the nodes that are configured
    withheld: int = 0  # deposits that wait for a second provider, or for room under a cap
    caps: tuple[OneProviderCap, ...] = ()


class PayoutStops(Protocol):
    async def current(self) -> frozenset[str]:
        """Return the networks on which nothing is paid for now; `*` is all of them.

        :raises Unavailable: when nobody says so.
        """
        ...


class SourceStops(Protocol):
    async def sources(self) -> frozenset[str]:
        """Return the networks of which no deposit is paid for now.

        :raises Unavailable: when nobody says so.
        """
        ...


class Halts(Protocol):
    async def halted(self) -> frozenset[str]:
        """Return the networks where what is final changed: nothing is paid there, nor for it.

        :raises Unavailable: when nobody says so.
        """
        ...


class PayoutAndSourceStops(PayoutStops, SourceStops, Halts, Protocol):
    """Where nothing is paid to, and for."""


class NetworkStates(Protocol):
    async def current(self) -> Mapping[str, NetworkState]:
        """
        :raises Unavailable: when Postgres is away.
        """
        ...


class ChainTransactions(Protocol):
    """The nodes, asked about single transactions."""

    async def locate(self, network: Network, transaction_hash: str) -> LocatedTransaction:
        """Return where the transaction is; the answer may be a second old.

        :param transaction_hash: in lower case.
        :raises Unavailable: when no node answers in time, or too many questions wait.
        """
        ...
