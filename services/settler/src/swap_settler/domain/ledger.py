"""Double entry: debit is positive, credit negative; a transaction sums to zero per asset."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final
from uuid import NAMESPACE_URL, UUID, uuid5

from swap_settler.domain.swap import Deposit, Intent, Method, Swap


class AccountKind(StrEnum):
    CUSTODY = "custody"
    EQUITY = "equity"
    POSITION = "position"
    FEE_INCOME = "fee_income"
    GAS_RECOVERED = "gas_recovered"
    GAS_EXPENSE = "gas_expense"
    LOSS = "loss"
    PAYOUT_SUSPENSE = "payout_suspense"
    SWAP_LIABILITY = "swap_liability"
    IN_FLIGHT = "in_flight"
    REFUEL_LIABILITY = "refuel_liability"
    REFUEL_IN_FLIGHT = "refuel_in_flight"
    SUSPENSE = "suspense"
    CLAIMABLE = "claimable"


# What we hold is somebody's as far as these say so.
OWING: Final = frozenset({
    AccountKind.SWAP_LIABILITY, AccountKind.IN_FLIGHT, AccountKind.REFUEL_LIABILITY,
    AccountKind.REFUEL_IN_FLIGHT, AccountKind.SUSPENSE, AccountKind.CLAIMABLE,
})  # fmt: skip


class Holder(StrEnum):
    TREASURY = "treasury"
    SIGNER = "signer"
    DEPOSIT_ADDRESS = "deposit_address"


class Unbalanced(ValueError):
    """A ledger transaction does not sum to zero in some asset: always a bug."""


@dataclass(frozen=True, slots=True)
class Account:
    """One account is one asset, and its identity is all of its fields."""

    kind: AccountKind
    network: str
    token: str
    swap_id: UUID | None = None
    deposit_id: UUID | None = None
    holder: Holder | None = None
    address: str | None = None

    @property
    def is_held(self) -> bool:
        """Whether it can be paid out: the signers' gas money pays nobody."""
        return self.kind is AccountKind.CUSTODY and self.holder is not Holder.SIGNER

    @property
    def is_owed(self) -> bool:
        return self.kind in OWING


@dataclass(frozen=True, slots=True)
class Posting:
    account: Account
    base_units: int


@dataclass(frozen=True, slots=True)
class LedgerTransaction:
    """A booking that happens once: `dedupe_key` is unique for ever.

    `network` and `effective_block` name the one chain whose custody it moves, and its block.
    """

    kind: str
    dedupe_key: str
    swap_id: UUID | None
    network: str | None
    effective_block: int | None
    postings: tuple[Posting, ...]
    id: UUID = field(init=False, compare=False)

    def __post_init__(self) -> None:
        sums: Counter[tuple[str, str]] = Counter()
        for posting in self.postings:
            sums[posting.account.network, posting.account.token] += posting.base_units
        if not self.postings or any(sums.values()):
            raise Unbalanced(f"{self.dedupe_key}: {self.postings}")
        object.__setattr__(self, "id", uuid5(NAMESPACE_URL, f"ledger/{self.dedupe_key}"))


Move = tuple[Account, int]


def _booked(
    kind: str,
    key: str,
    *moves: Move,
    swap_id: UUID | None = None,
    network: str | None = None,
    block: int | None = None,
) -> LedgerTransaction:
    postings = tuple(Posting(account, units) for account, units in moves if units)
    return LedgerTransaction(kind, f"{kind}/{key}", swap_id, network, block, postings)


# Accounts


def _of(kind: AccountKind, what: Deposit | Intent) -> Account:
    return Account(kind, what.network, what.token)


def _treasury(network: str, token: str, address: str) -> Account:
    return Account(AccountKind.CUSTODY, network, token, holder=Holder.TREASURY, address=address)


def _custody(deposit: Deposit) -> Account:
    return _treasury(deposit.network, deposit.token, deposit.to_address)


def _signer(network: str, native: str, address: str) -> Account:
    return Account(AccountKind.CUSTODY, network, native, holder=Holder.SIGNER, address=address)


def _source(kind: AccountKind, swap: Swap, deposit_id: UUID | None = None) -> Account:
    source = swap.terms.source
    return Account(kind, source.network, source.token, swap.id, deposit_id)


def _destination(kind: AccountKind, swap: Swap) -> Account:
    destination = swap.terms.destination
    return Account(kind, destination.network, destination.token, swap.id)


def _suspense(deposit: Deposit) -> Account:
    """Whose a movement without a swap is: nobody's yet, or the owner's."""
    if deposit.method is Method.FUNDING:
        return _of(AccountKind.EQUITY, deposit)
    return Account(AccountKind.SUSPENSE, deposit.network, deposit.token, deposit_id=deposit.id)


# Movements without a swap


def received(deposit: Deposit) -> LedgerTransaction:
    """Value came that is no swap's: the owner's funding, or kept until somebody says whose."""
    return _booked(
        "funded" if deposit.method is Method.FUNDING else "suspended",
        f"{deposit.id}/{deposit.version}",
        (_custody(deposit), deposit.base_units),
        (_suspense(deposit), -deposit.base_units),
        network=deposit.network,
        block=deposit.block_number,
    )


def received_reverted(deposit: Deposit, *, version: int) -> LedgerTransaction:
    """A reorg took it. :param deposit: as it was booked."""
    return _booked(
        "unfunded" if deposit.method is Method.FUNDING else "unsuspended",
        f"{deposit.id}/{version}",
        (_suspense(deposit), deposit.base_units),
        (_custody(deposit), -deposit.base_units),
        network=deposit.network,
        block=deposit.block_number,
    )


def matched(swap: Swap, deposit: Deposit) -> LedgerTransaction:
    """What waited in suspense is this swap's."""
    return _booked(
        "matched",
        f"{deposit.id}/{deposit.version}",
        (_suspense(deposit), deposit.base_units),
        (_source(AccountKind.SWAP_LIABILITY, swap), -deposit.base_units),
        swap_id=swap.id,
    )


# Deposits of a swap


def credited(swap: Swap, deposit: Deposit) -> LedgerTransaction:
    return _booked(
        "credited",
        f"{deposit.id}/{deposit.version}",
        (_custody(deposit), deposit.base_units),
        (_source(AccountKind.SWAP_LIABILITY, swap), -deposit.base_units),
        swap_id=swap.id,
        network=deposit.network,
        block=deposit.block_number,
    )


def credit_reversed(swap: Swap, deposit: Deposit, *, version: int) -> LedgerTransaction:
    """A reorg took it before anything was paid for it. :param deposit: as it was booked."""
    return _booked(
        "credit_reversed",
        f"{deposit.id}/{version}",
        (_source(AccountKind.SWAP_LIABILITY, swap), deposit.base_units),
        (_custody(deposit), -deposit.base_units),
        swap_id=swap.id,
        network=deposit.network,
        block=deposit.block_number,
    )


def lost(swap: Swap, deposit: Deposit) -> LedgerTransaction:
    """A reorg took it after it was paid for: our loss, never a debt of the user."""
    return _booked(
        "lost",
        f"{deposit.id}/{deposit.version}",
        (_source(AccountKind.LOSS, swap), deposit.base_units),
        (_custody(deposit), -deposit.base_units),
        swap_id=swap.id,
        network=deposit.network,
        block=deposit.block_number,
    )


def recovered(swap: Swap, deposit: Deposit) -> LedgerTransaction:
    """What was lost is mined again: nobody gets a second credit for it."""
    return _booked(
        "recovered",
        f"{deposit.id}/{deposit.version}",
        (_custody(deposit), deposit.base_units),
        (_source(AccountKind.LOSS, swap), -deposit.base_units),
        swap_id=swap.id,
        network=deposit.network,
        block=deposit.block_number,
    )


def claimable(swap: Swap, base_units: int) -> LedgerTransaction:
    """Nothing can be sent for the main leg: it waits for its owner."""
    return _booked(
        "claimable",
        f"{swap.id}/{swap.sequence}",
        (_source(AccountKind.SWAP_LIABILITY, swap), base_units),
        (_source(AccountKind.CLAIMABLE, swap), -base_units),
        swap_id=swap.id,
    )


def claim_reversed(swap: Swap, deposit: Deposit, *, version: int) -> LedgerTransaction:
    """A reorg took what was claimable. :param deposit: as it was booked."""
    leg = deposit.id if deposit.returned_base_units else None
    return _booked(
        "claim_reversed",
        f"{deposit.id}/{version}",
        (_source(AccountKind.CLAIMABLE, swap, leg), deposit.base_units),
        (_source(AccountKind.SWAP_LIABILITY, swap), -deposit.base_units),
        swap_id=swap.id,
    )


def returned(swap: Swap, deposit: Deposit) -> LedgerTransaction:
    """A deposit that came too late for its swap is claimable on a leg of its own."""
    return _booked(
        "returned",
        f"{deposit.id}/{deposit.version}",
        (_source(AccountKind.SWAP_LIABILITY, swap), deposit.base_units),
        (_source(AccountKind.CLAIMABLE, swap, deposit.id), -deposit.base_units),
        swap_id=swap.id,
    )


# Quote and payout


def _quote_moves(swap: Swap) -> tuple[Move, ...]:
    source, destination = swap.terms.source, swap.terms.destination
    requested, fee = swap.quote.requested_base_units, swap.quote.fee_base_units
    payout = swap.quote.payout_base_units
    return (
        (_source(AccountKind.SWAP_LIABILITY, swap), requested),
        (Account(AccountKind.POSITION, source.network, source.token), fee - requested),
        (Account(AccountKind.FEE_INCOME, source.network, source.token), -fee),
        (Account(AccountKind.POSITION, destination.network, destination.token), payout),
        (_destination(AccountKind.SWAP_LIABILITY, swap), -payout),
    )


def quote_executed(swap: Swap, output: Intent) -> LedgerTransaction:
    """The user's source asset becomes ours, and we owe the destination asset."""
    return _booked("quote_executed", str(output.id), *_quote_moves(swap), swap_id=swap.id)


def quote_reversed(swap: Swap, output: Intent) -> LedgerTransaction:
    back = ((account, -units) for account, units in _quote_moves(swap))
    return _booked("quote_reversed", str(output.id), *back, swap_id=swap.id)


def payout_reserved(swap: Swap, output: Intent) -> LedgerTransaction:
    return _booked(
        "payout_reserved",
        str(output.id),
        (_destination(AccountKind.SWAP_LIABILITY, swap), output.base_units),
        (_destination(AccountKind.IN_FLIGHT, swap), -output.base_units),
        swap_id=swap.id,
    )


def payout_released(swap: Swap, output: Intent) -> LedgerTransaction:
    """The payout is dead: what was reserved for it is owed again."""
    return _booked(
        "payout_released",
        str(output.id),
        (_destination(AccountKind.IN_FLIGHT, swap), output.base_units),
        (_destination(AccountKind.SWAP_LIABILITY, swap), -output.base_units),
        swap_id=swap.id,
    )


def payout_final(
    swap: Swap, output: Intent, *, block_number: int, treasury: str
) -> LedgerTransaction:
    return _booked(
        "payout_final",
        str(output.id),
        (_destination(AccountKind.IN_FLIGHT, swap), output.base_units),
        (_treasury(output.network, output.token, treasury), -output.base_units),
        swap_id=swap.id,
        network=output.network,
        block=block_number,
    )


def payout_unexplained(
    *,
    network: str,
    token: str,
    paid_id: int,
    transaction_hash: str,
    base_units: int,
    block_number: int,
    treasury: str,
) -> LedgerTransaction:
    """The Treasury paid what no attempt of ours ordered."""
    return _booked(
        "payout_unexplained",
        f"{network}/{paid_id}/{transaction_hash}",
        (Account(AccountKind.PAYOUT_SUSPENSE, network, token), base_units),
        (_treasury(network, token, treasury), -base_units),
        network=network,
        block=block_number,
    )


# The signers' gas money


def gas_spent(
    *, network: str, signer: str, native: str, nonce: int, base_units: int, block_number: int
) -> LedgerTransaction:
    """Once per nonce, whatever its transaction did."""
    return _booked(
        "gas",
        f"{network}/{signer}/{nonce}",
        (Account(AccountKind.GAS_EXPENSE, network, native), base_units),
        (_signer(network, native, signer), -base_units),
        network=network,
        block=block_number,
    )


def signer_topped_up(
    *, network: str, signer: str, native: str, base_units: int, block_number: int
) -> LedgerTransaction:
    """Its balance rose by what no transaction of ours explains: the owner's money."""
    return _booked(
        "topped_up",
        f"{network}/{signer}/{block_number}",
        (_signer(network, native, signer), base_units),
        (Account(AccountKind.EQUITY, network, native), -base_units),
        network=network,
        block=block_number,
    )
