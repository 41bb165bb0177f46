"""What settling needs from the outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol
from uuid import UUID

from swap_contracts.quoting import QuoteAnswer, QuoteQuestion
from swap_settler.model.swap import Leg
from swap_settler.settling.decide.requotes import Refused


@dataclass(frozen=True, slots=True)
class DueRefund:
    """A leg whose refund is to be worked out."""

    id: int
    swap_id: UUID
    leg: Leg
    waited: timedelta = timedelta(0)


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


class Pricing(Protocol):
    """The quoter."""

    async def quote(self, question: QuoteQuestion) -> QuoteAnswer | Refused:
        """Return what it offers, or why nothing; a quoter that is away gives no answer."""
        ...
