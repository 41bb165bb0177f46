"""What one fact changes: a field per table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from swap_domain.lifecycle import Status
from swap_settler.model.change_cause import ChangeCause
from swap_settler.model.ledger.accounts import LedgerTransaction
from swap_settler.model.swap import Deposit, Intent, Leg, Swap
from swap_settler.model.targets import DepositTarget


@dataclass(frozen=True, slots=True)
class Halt:
    """Every signer of a network stops until an operator resumes it."""

    network: str
    reason: str
    is_evidence: bool = False  # a chain has what the ledger has not: a recovery begins
    # When the block of the evidence was made: no halt where a recovery that began later is open.
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """What one fact changes. With a swap in it, exactly one sequence was spent, for one cause.

    The inventory follows from the ledger transactions.
    """

    swap: Swap | None = None
    previous_status: Status | None = None  # None for a swap that begins
    cause: ChangeCause | None = None  # of the change of the swap
    deposits: tuple[Deposit, ...] = ()
    intents: tuple[Intent, ...] = ()
    ledger: tuple[LedgerTransaction, ...] = ()
    # What this fact makes due; `work_due` derives what the whole batch leaves to do.
    refunds_due: tuple[Leg, ...] = ()  # legs of the swap with a refund that can be computed now
    is_requote_due: bool = False  # the swap's present sum needs a quote
    target: DepositTarget | None = None  # the deposit address of a swap that begins
    halt: Halt | None = None
    trace_id: str | None = None  # of the message that caused it; None for what we do by ourselves

    def __post_init__(self) -> None:
        assert (self.swap is None) == (self.cause is None), "a change of a swap has a cause"

    def with_cause(self, cause: ChangeCause) -> Changes:
        """Return the changes with the cause of the order that the step is part of."""
        return self if self.swap is None else replace(self, cause=cause)


NOTHING: Final = Changes()
