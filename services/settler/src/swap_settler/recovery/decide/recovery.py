"""Whether the database is the one that this service wrote last.

Pure. A restored database has forgotten payments. A forgotten output and a refund have different ids
at their Treasuries, so no contract refuses the second of them. Older payments are held until it is
proven which of them were made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID


@dataclass(frozen=True, slots=True)
class RegisteredIncarnation:
    """The newest registered incarnation beside the server's."""

    id: int | None  # None: none was registered
    last: Incarnation | None
    now: Incarnation
    has_history: bool
    uncompared: frozenset[str]  # networks that gave no answer when the last one was registered


@dataclass(frozen=True, slots=True)
class UncomparedNetwork:
    """A network that could not be compared with the ledger since the server's start."""

    network: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Findings:
    """What goes on being held when a recovery ends."""

    paid: Sequence[PaymentId]  # that the ledger has no answer for
    has_unknown: bool  # a Treasury paid what is of no swap that is known
    evidence: int  # how much was known of the recovery then


@dataclass(frozen=True, slots=True)
class Incarnation:
    """What distinguishes one incarnation of the database from another."""

    system_identifier: int
    timeline: int
    database_id: int
    table_id: int
    booted_at: datetime  # when its server was started

    @property
    def copy(self) -> tuple[int, int, int]:
        """Which copy of the data it is, whatever its timeline."""
        return self.system_identifier, self.database_id, self.table_id


class Start(StrEnum):
    """What the newest registered incarnation and the server's show about a start."""

    SAME = "same"
    FIRST = "first"  # of an empty database
    RESTARTED = "restarted"  # the server was: a volume may have been put back unseen
    RESTORED = "restored"


def classify_start(
    last: Incarnation | None,
    now: Incarnation,
    *,
    has_history: bool,
    failover_is_lossless: bool = False,
) -> Start:
    """Return what kind of start it is.

    :param has_history: whether there are swaps, deposits or nonces.
    :param failover_is_lossless: whether a standby has every commit before it is acknowledged.
    """
    if last is None:
        return Start.RESTORED if has_history else Start.FIRST
    if last == now:
        return Start.SAME
    is_copy = last.copy == now.copy
    is_line = last.timeline == now.timeline or failover_is_lossless
    if (is_copy and is_line) or not has_history:
        return Start.RESTARTED
    return Start.RESTORED


def restore_reason(last: Incarnation | None, now: Incarnation) -> str:
    """Return the reason of a recovery, for operators."""
    if last is None:
        return "the database has a history and no incarnation: it may be an older backup"
    names = ("system_identifier", "timeline", "database_id", "table_id")
    differences = [
        f"{name} {getattr(last, name)} became {getattr(now, name)}"
        for name in names
        if getattr(last, name) != getattr(now, name)
    ]
    return f"the database was restored or failed over: {', '.join(differences)}"


@dataclass(frozen=True, slots=True)
class Recovery:
    """Older payments are held, for as long as it is open."""

    id: int
    cause: str
    reason: str
    began_at: datetime
    evidence: int = 0  # how much was found since it began
    ended: RecoveryEnd | None = None


@dataclass(frozen=True, slots=True)
class RecoveryEnd:
    at: datetime
    by: str
    because: str


@dataclass(frozen=True, slots=True)
class NetworkProof:
    """Whether the ledger has all that a chain had when the recovery began."""

    network: str
    head: int | None  # of the chain; None: no node has answered yet
    # The last block that the ledger has completely; None: it is behind the watcher, or finality is
    # in doubt.
    read: int | None

    @property
    def is_read(self) -> bool:
        return self.head is not None and self.read is not None and self.read >= self.head


@dataclass(frozen=True, slots=True)
class SignerProof:
    """Whether a forgotten transaction of a signer can still be mined."""

    network: str
    address: str
    is_halted: bool
    end_nonce: int | None  # None: its nonces are not fenced yet
    open_nonces: int
    is_far_enough: bool  # past what was found to be forgotten
    final_number: int | None  # the block at which the last of them was found consumed
    is_opened: bool = True  # the ledger has it

    @classmethod
    def of_unknown_signer(cls, network: str, address: str) -> SignerProof:
        """Return what is proven of a signer that the ledger lacks: nothing."""
        return cls(
            network=network,
            address=address,
            is_halted=False,
            end_nonce=None,
            open_nonces=0,
            is_far_enough=True,
            final_number=None,
            is_opened=False,
        )

    @property
    def is_closed(self) -> bool:
        is_fenced = self.end_nonce is not None and self.is_far_enough
        return is_fenced and not self.open_nonces and self.final_number is not None


@dataclass(frozen=True, slots=True)
class Proofs:
    """What is proven of a recovery before the ids of payments are queried."""

    networks: tuple[NetworkProof, ...]
    signers: tuple[SignerProof, ...]

    @property
    def are_complete(self) -> bool:
        """Whether nothing forgotten can appear any more: each network is read to where its signers
        were closed.
        """
        closed: dict[str, int] = {}
        for signer in self.signers:
            if not signer.is_closed or signer.final_number is None:
                return False
            closed[signer.network] = max(closed.get(signer.network, 0), signer.final_number)
        return all(
            one.is_read and (one.read or 0) >= closed.get(one.network, 0) for one in self.networks
        )


Asset = tuple[str, str]  # network, token


@dataclass(frozen=True, slots=True)
class HeldSwap:
    """An older swap with the ids of its payments."""

    id: UUID
    source: Asset
    destination: Asset
    deposits: tuple[UUID, ...]
    known: frozenset[tuple[str, int]]  # network and id of what the ledger has an answer for


@dataclass(frozen=True, slots=True)
class PaymentId:
    """What a Treasury accepts once for one payment of a swap, or of what is no swap's."""

    network: str
    paid_id: int
    kind: str
    swap_id: UUID | None = None
    intent_id: UUID | None = None
    deposit_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class RetainedHold:
    """A hold that outlasts its recovery, until an operator has explained or released it."""

    id: int
    swap_id: UUID | None
    intent_id: UUID | None
    deposit_id: UUID | None
    kind: str
    network: str
    since: datetime
    is_paid: bool  # what is not, an operator may release


@dataclass(frozen=True, slots=True)
class UnexplainedPayment:
    """A payment by a Treasury that no attempt explains."""

    network: str
    paid_id: int
    transaction_hash: str


UNKNOWN: Final = "unknown"


@dataclass(frozen=True, slots=True)
class ForgottenPayment:
    """A payment by a Treasury that nothing explains, with its swap where that is known."""

    swap_id: UUID | None
    kind: str  # UNKNOWN: of no swap or deposit that is known
    payment: UnexplainedPayment
