"""What incarnations and recoveries need from the outside."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from swap_settler.recovery.decide.recovery import (
    HeldSwap,
    Incarnation,
    PaymentId,
    Proofs,
    Recovery,
    RetainedHold,
    UnexplainedPayment,
)


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
    ) -> bool:
        """Keep which networks still gave no answer; False if another process did meanwhile.

        :param evidence: what a chain has and the ledger has not: a recovery begins.
        """
        ...


@dataclass(frozen=True, slots=True)
class Uncompared:
    """A network that could not be compared with the ledger since the server's start."""

    network: str
    since: datetime


class Recoveries(Protocol):
    async def find(self) -> Recovery | None:
        """Return the open one, or the last that has ended. Asked every second."""
        ...

    async def list_uncompared(self) -> Sequence[Uncompared]:
        """Return the networks on which older payments are held until two providers answer."""
        ...

    async def count_held(self) -> int:
        """Return how many payments and refunds wait for its end, or for a retained hold."""
        ...

    async def unexplained(self) -> Sequence[UnexplainedPayment]:
        """Return what the Treasuries paid, and neither an attempt nor an operator explains."""
        ...

    async def held_swaps(self, before: datetime, *, after: UUID, limit: int) -> Sequence[HeldSwap]:
        """Return swaps that may still be paid out, or sent back, and are older, by id."""
        ...

    async def standalone_payments(self) -> Sequence[PaymentId]:
        """Return payments of no swap that wait, or that an operator may order."""
        ...

    async def finish(self, id: int, found: Findings, *, by: str, reason: str) -> bool:
        """End it, and go on holding what was found; False if it has ended or has new evidence."""
        ...

    async def retained_holds(self) -> Sequence[RetainedHold]: ...

    async def release(self, id: int, *, by: str, reason: str) -> bool:
        """Hold a deposit no longer; False where a payment was made, or it is released."""
        ...


@dataclass(frozen=True, slots=True)
class Findings:
    """What goes on being held when a recovery ends."""

    paid: Sequence[PaymentId]  # that the ledger has no answer for
    has_unknown: bool  # a Treasury paid what is of no swap that is known
    evidence: int  # how much was known of the recovery then


class RecoveryProofs(Protocol):
    async def find(self, id: int, networks: Collection[str]) -> Proofs: ...

    async def are_counted(self, before: datetime, networks: Collection[str]) -> bool:
        """Whether the coins at each older deposit address were counted since."""
        ...

    async def uncounted_addresses(
        self, before: datetime, networks: Collection[str]
    ) -> Mapping[str, int]:
        """Return how many older deposit addresses were not counted since, by network."""
        ...

    async def note_heads(self, recovery: Recovery, heads: Mapping[str, int]) -> None:
        """Keep up to where each network has to be read."""
        ...
