"""What the sender lane needs from the outside, in its own words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple, Protocol
from uuid import UUID

from swap_chains.events import Block
from swap_chains.ports import Fees, Receipt, SignedTransaction
from swap_settler.model.ports import Work
from swap_settler.paying.decide.caps import WithheldPayment
from swap_settler.paying.decide.lane import Group, Payment, Slot, SweepSlot, WaitingSweep
from swap_settler.paying.decide.receipt_quorum import ReceiptQuorum
from swap_settler.paying.decide.replacing import OpenSlot

# Intents, with their swaps; None for a payment that is no swap's.
Owners = Mapping[UUID, UUID | None]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One signed transaction for a slot, with the live intents it was signed for."""

    transaction: SignedTransaction
    fees: Fees
    intents: frozenset[UUID]

    @property
    def is_cancel(self) -> bool:
        return not self.intents


def fitting(attempts: Sequence[Attempt], slots: Sequence[Slot]) -> Sequence[Attempt]:
    """Return the attempts whose slot carries exactly what they were signed for."""
    carried = {slot.nonce: frozenset(p.intent_id for p in slot.payments) for slot in slots}
    return [a for a in attempts if carried.get(a.transaction.nonce) == a.intents]


@dataclass(frozen=True, slots=True)
class SignedFor:
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
    is_external: bool = False  # no attempt of ours: somebody else's transaction

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
    in_flight: int  # slots in no block as far as we heard
    next_nonce: int | None  # the signer's; None while it may not sign
    on_its_way: Mapping[str, int]  # base units by token, of all lanes of the network


class UnsignedSlots(NamedTuple):
    """Slots that nothing was signed for."""

    payable: Sequence[Slot]  # what may be signed for them now
    has_any: bool  # also of sweeps, and of what may not be signed for now


class LaneStore(Protocol):
    """What one lane keeps of its signer on its network. Each method is one transaction."""

    async def open_signer(self, nonce: int) -> int | None:
        """Begin at `nonce` if the signer is new; return the next nonce that will be handed out.

        None where it is new and the database was not compared with the network yet: it may be
        forgotten.
        """
        ...

    async def halt(self, reason: str) -> None:
        """Halt for what a chain has and the ledger has not; a recovery begins."""
        ...

    async def paid_sample(self) -> Sequence[int]:
        """Return ids of final payments of the network: the oldest, the newest and others."""
        ...

    async def halt_for(self, nonces: Collection[int], reason: str) -> None:
        """Halt for nonces that nothing explains, unless something has explained all of them.

        A recovery begins: the ledger may have forgotten what used them. A reason that the halt has
        already begins nothing again.
        """
        ...

    async def due(self, *, limit: int) -> Due:
        """Return the payments that are due, the longest waiting first.

        Of those that stand in line, only what may have its turn.
        """
        ...

    async def queue_payments(self, withheld: Sequence[WithheldPayment]) -> None:
        """Let payments wait for the Treasury's own limit, in the order they were made."""
        ...

    async def in_flight(self, *, first: int = 0) -> int:
        """Return how many slots from a nonce on are in no block as far as we heard."""
        ...

    async def assign(
        self, groups: Sequence[Group], *, signed: Sequence[Attempt] = (), epoch: int
    ) -> Sequence[Slot]:
        """Hand out one nonce per group, in order; nothing for a signer that is halted, or stopped.

        A payment that was taken back meanwhile is left out of its group, and so is one that a cap
        has no room for: it stands in line. Of what was signed already, what fits is stored.

        :raises LeaseLost: when another lane has taken over.
        """
        ...

    async def unsigned_slots(self, *, epoch: int) -> UnsignedSlots:
        """Return the slots nothing was signed for, with the payments on them that still live.

        Those of payments that a recovery holds are left to no-ops.

        :raises LeaseLost: when another lane has taken over.
        """
        ...

    async def has_unsigned_slots(self) -> bool:
        """Whether there are any, of payments or sweeps, signed for now or not."""
        ...

    async def store_attempts(self, attempts: Sequence[Attempt], *, epoch: int) -> Sequence[Attempt]:
        """Store the attempts whose slot still carries exactly what they were signed for.

        None for a signer that is halted, or stopped.

        :raises LeaseLost: when another lane has taken over.
        """
        ...

    async def open_slots(self, *, lowest: int) -> Sequence[OpenSlot]:
        """Return what is signed and in no block as far as we heard: the slot of the lowest nonce,
        and every later one that carries a payment for a deposit that a reorg took.
        """
        ...

    async def store_replacement(self, attempt: Attempt, *, epoch: int) -> bool:
        """Store an attempt for a slot that has others, while none of its payments is in a block.

        It carries exactly the slot's live payments, or nothing.
        None is kept for a signer that is halted, or stopped.

        :raises LeaseLost: when another lane has taken over.
        """
        ...

    async def waiting_sweeps(self, *, limit: int) -> Sequence[WaitingSweep]:
        """Return the sweeps that are due, the longest waiting first."""
        ...

    async def assign_sweeps(
        self, sweeps: Sequence[WaitingSweep], *, epoch: int
    ) -> Sequence[SweepSlot]:
        """Hand out one nonce for all of them; nothing for a signer that is halted.

        :raises LeaseLost: when another lane has taken over.
        """
        ...

    async def unsigned_sweeps(self) -> Sequence[SweepSlot]:
        """Return the slots of sweeps that nothing was signed for."""
        ...

    async def postpone_sweeps(self, intent_ids: Sequence[object], *, pause: timedelta) -> None:
        """Let sweeps wait that failed, each time longer."""
        ...

    async def unproven_payments(self, addresses: Collection[str]) -> Mapping[str, int]:
        """Return how many payments this signer sent that no block is known to have paid."""
        ...

    async def defer_payments(self, intent_ids: Sequence[UUID], *, pause: timedelta) -> None:
        """Let payments wait that nothing is held against."""
        ...

    async def unmined(self, *, older_than: timedelta, limit: int) -> Sequence[SignedTransaction]:
        """Return what was never sent, or not for a while, and is in no block as far as we heard."""
        ...

    async def signed_for(self, *, below: int) -> Sequence[SignedFor]:
        """Return the attempts on open slots below a nonce."""
        ...

    async def payments_on(self, nonces: Collection[int]) -> Sequence[Payment]:
        """Return what these slots carry and no block has, as far as we heard."""
        ...

    async def relays_on(self, nonces: Collection[int]) -> Mapping[Payment, int]:
        """Return the gasless deposits on these slots that are not over, each with its nonce."""
        ...

    async def is_network_halted(self) -> bool:
        """Whether the watcher saw what is final there change: nothing is concluded from it then."""
        ...

    async def ledger_passed(self) -> int | None:
        """Return the last block of which the ledger has everything, and remember it.

        None while something the watcher said up to its last final block is still unheard.
        """
        ...

    async def signer_balance(self, token: str) -> int:
        """Return what the ledger says that this lane's signer holds."""
        ...

    async def oldest_unpaid(self) -> timedelta:
        """Return how long the oldest payment of the network waits to be final."""
        ...


class LaneWork(Work, Protocol):
    """A settler's transaction that also writes what the lane owns."""

    async def intents_of(self, transaction_hashes: Collection[str]) -> Owners:
        """Return the intents that wait for these transactions to be sent."""
        ...

    async def mark_attempts_sent(self, sent_ago: Mapping[str, timedelta]) -> None:
        """Keep when nodes had these transactions, by hash: so long ago."""
        ...

    async def intents_on(self, nonces: Collection[int]) -> Owners:
        """Return the unpaid intents on these slots of this lane's signer."""
        ...

    async def require_epoch(self, epoch: int) -> None:
        """
        :raises LeaseLost: when another lane has taken over.
        """
        ...

    async def failures_of_unsent(self, intent_ids: Collection[UUID]) -> Mapping[UUID, int]:
        """Return how often each failed, of those that wait and that nothing signed can pay."""
        ...

    async def failures_of_unsigned(self, intent_ids: Collection[UUID]) -> Mapping[UUID, int]:
        """Return the same also of those that have a nonce and no bytes yet."""
        ...

    async def failures_of_dead(self, intent_ids: Collection[UUID]) -> Mapping[UUID, int]:
        """Return how often each failed, of those whose slot was just proven dead."""
        ...

    async def count_reverts(
        self, nonces: Collection[int], *, besides: Collection[UUID]
    ) -> Mapping[UUID, int]:
        """Count reverts of payments that were alone on these nonces; return their numbers now."""
        ...

    async def postpone(
        self, failures: Mapping[UUID, int], pauses: Mapping[UUID, timedelta]
    ) -> None:
        """Let payments wait for their next try, in a slot of their own."""
        ...

    async def close_slots(self, closed: Sequence[ClosedSlot], final: Block) -> None:
        """Keep what consumed each nonce, seen at a final block: the proof of what died with it.

        Before the flush of what follows from it, which keeps the proof with the intents.
        """
        ...

    async def close_forgotten(self, nonces: Collection[int], final: Block) -> None:
        """Close nonces that carry nothing and were consumed by what a restored ledger forgot."""
        ...

    async def add_snapshots(self, snapshots: Sequence[Snapshot], block: Block) -> None: ...


class LaneUnitOfWork(Protocol):
    def __call__(self) -> AbstractAsyncContextManager[LaneWork]: ...


class Wake(Protocol):
    async def wait(self, timeout: timedelta) -> bool:  # noqa: ASYNC109 as the runtime has it
        """Return True when woken, False when the time is over."""
        ...


@dataclass(frozen=True, slots=True)
class Unfenced:
    """A signer of which forgotten transactions may still be mined."""

    recovery_id: int
    end_nonce: int | None  # up to where its nonces have to be consumed; None: the chain is asked


@dataclass(frozen=True, slots=True)
class Fence:
    """Which nonces are handed out to nothing: from the ledger's next one on."""

    recovery_id: int
    final_nonce: int  # those below it are consumed in a final block
    final: Block
    end_nonce: int
    beyond: int


class Fences(Protocol):
    """The nonces of one lane's signer that forgotten transactions may have."""

    async def find_unfenced(self) -> Unfenced | None:
        """Return what is to be fenced, or fenced further; None also while the signer is halted."""
        ...

    async def awaits_fence(self) -> bool | None:
        """Whether the chain may be ahead of the ledger; None until the database is known."""
        ...

    async def set(self, fence: Fence, *, epoch: int) -> int:
        """Keep it, and return how many nonces need a no-op.

        :raises LeaseLost: when another lane has taken over.
        """
        ...

    async def fenced(self, nonces: Collection[int]) -> frozenset[int]:
        """Return those of these nonces that were handed out to nothing."""
        ...

    async def is_recovering(self) -> bool: ...
