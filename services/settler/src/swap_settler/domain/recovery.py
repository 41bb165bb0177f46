"""Whether the database is the one that this service wrote last.

Pure. A restored database has forgotten payments. A forgotten output and a refund have different
ids at their Treasuries, so that no contract refuses the second of them: older payments are held
until an operator has looked.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Incarnation:
    """What tells one life of the database from another."""

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
    """What the newest registered incarnation and the server's tell about a start."""

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


def what_changed(last: Incarnation | None, now: Incarnation) -> str:
    """Return the reason of a recovery, for operators."""
    if last is None:
        return "the database has a history and no incarnation: it may be an older backup"
    names = ("system_identifier", "timeline", "database_id", "table_id")
    told = [
        f"{name} {getattr(last, name)} became {getattr(now, name)}"
        for name in names
        if getattr(last, name) != getattr(now, name)
    ]
    return f"the database was restored or failed over: {', '.join(told)}"


@dataclass(frozen=True, slots=True)
class Recovery:
    """Older payments are held, for as long as it is open."""

    id: int
    cause: str
    reason: str
    began_at: datetime
    held: int  # payments and refunds that wait for its end


@dataclass(frozen=True, slots=True)
class UnexplainedPayment:
    """What a Treasury paid and no attempt of ours explains."""

    network: str
    paid_id: int
    transaction_hash: str


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A payment of a swap that the ledger still knows, and calls unpaid."""

    swap_id: UUID
    kind: str
    payment: UnexplainedPayment
