"""What incarnations and recoveries need from the outside."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from swap_settler.domain.recovery import Incarnation, Recovery, UnexplainedPayment


@dataclass(frozen=True, slots=True)
class Registered:
    """The newest registered incarnation beside the server's."""

    id: int | None  # None: none was registered
    last: Incarnation | None
    now: Incarnation
    has_history: bool
    uncompared: frozenset[str]  # networks that gave no answer when the last one was registered


@dataclass(frozen=True, slots=True)
class KnownNonce:
    """The next nonce of a signer, as the ledger has it."""

    network: str
    address: str
    next_nonce: int


class Incarnations(Protocol):
    async def find(self) -> Registered: ...

    async def known_nonces(self) -> Sequence[KnownNonce]: ...

    async def register(
        self, seen: Registered, *, uncompared: Collection[str], evidence: str | None
    ) -> bool:
        """Register a restarted server's; False if another process did since it was looked at.

        :param evidence: what a chain has and the ledger has not: a recovery begins.
        """
        ...

    async def register_restored(self, seen: Registered, *, reason: str) -> bool:
        """Register it, begin a recovery, and give no number again that may have been given."""
        ...

    async def mark_compared(
        self, seen: Registered, *, uncompared: Collection[str], evidence: str | None
    ) -> None:
        """Keep which networks still gave no answer."""
        ...


class Recoveries(Protocol):
    async def find_open(self) -> Recovery | None: ...

    async def unexplained(self) -> Sequence[UnexplainedPayment]:
        """Return what the Treasuries paid, and neither an attempt nor an operator explains."""
        ...

    async def unpaid_swaps(self) -> Sequence[UUID]:
        """Return the swaps that may still be paid out, or sent back."""
        ...

    async def finish(self, id: int, *, by: str, reason: str) -> bool:
        """End it; False if it has ended already."""
        ...
