"""What a lane signs for its slots, and how a slot ends. Pure: the store reads and writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from swap_chains.ports import Fees, Receipt, SignedTransaction
from swap_settler.paying.decide.lane import Payment, Slot
from swap_settler.paying.decide.receipt_quorum import ReceiptQuorum

# Intents, with their swaps; None for a payment that is no swap's.
Owners = Mapping[UUID, UUID | None]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One signed transaction for a slot, with the live intents it was signed for."""

    transaction: SignedTransaction
    fees: Fees
    intents: frozenset[UUID]
    swap_ids: frozenset[UUID] = field(default=frozenset(), compare=False)  # for spans

    @property
    def is_cancel(self) -> bool:
        return not self.intents


def swaps_of(payments: Sequence[Payment]) -> frozenset[UUID]:
    """Return the swaps that payments are for; some are for none."""
    return frozenset(payment.swap_id for payment in payments if payment.swap_id is not None)


def swaps_by_transaction(attempts: Sequence[Attempt]) -> Mapping[str, frozenset[UUID]]:
    """Return the swaps that each attempt pays, by the hash of its transaction."""
    return {attempt.transaction.transaction_hash: attempt.swap_ids for attempt in attempts}


def fitting(attempts: Sequence[Attempt], slots: Sequence[Slot]) -> Sequence[Attempt]:
    """Return the attempts with a slot that contains exactly what they were signed for."""
    carried = {slot.nonce: frozenset(p.intent_id for p in slot.payments) for slot in slots}
    return [a for a in attempts if carried.get(a.transaction.nonce) == a.intents]


@dataclass(frozen=True, slots=True)
class OpenAttempt:
    """An attempt on a slot that is still open."""

    nonce: int
    transaction_hash: str
    is_cancel: bool


@dataclass(frozen=True, slots=True)
class ClosedSlot:
    """A nonce that a finalized block has consumed, by which transaction, and how."""

    nonce: int
    transaction_hash: str
    is_cancel: bool
    receipt: Receipt
    quorum: ReceiptQuorum | None = None  # of what paid nothing
    is_external: bool = False  # an external transaction, none of the lane's attempts

    @property
    def paid_nothing(self) -> bool:
        return self.is_external or self.is_cancel or not self.receipt.succeeded

    @property
    def has_reverted(self) -> bool:
        """Whether the call that was signed for its payments failed in a block."""
        return not (self.is_external or self.is_cancel or self.receipt.succeeded)


@dataclass(frozen=True, slots=True)
class Snapshot:
    address: str
    token: str
    base_units: int


class Due(NamedTuple):
    """What is to be paid, and what is on its way already, both at this look."""

    payments: Sequence[Payment]
    in_flight: int  # slots in no block that the watcher has reported
    next_nonce: int | None  # the signer's; None while it may not sign
    on_its_way: Mapping[str, int]  # base units by token, of all lanes of the network


class UnsignedSlots(NamedTuple):
    """Slots that nothing was signed for."""

    payable: Sequence[Slot]  # what may be signed for them now
    has_any: bool  # also of sweeps, and of what may not be signed for now
