"""Accounts and what is booked on them: each ledger transaction sums to zero per asset."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final
from uuid import NAMESPACE_URL, UUID, uuid5


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
    PARTNER_FEE = "partner_fee"  # an app's, of swaps with a final output


# Balances of these accounts are owed to others.
OWING: Final = frozenset({
    AccountKind.SWAP_LIABILITY, AccountKind.IN_FLIGHT, AccountKind.REFUEL_LIABILITY,
    AccountKind.REFUEL_IN_FLIGHT, AccountKind.SUSPENSE, AccountKind.CLAIMABLE,
    AccountKind.PARTNER_FEE,
})  # fmt: skip


class Holder(StrEnum):
    TREASURY = "treasury"
    SIGNER = "signer"
    DEPOSIT_ADDRESS = "deposit_address"


class UnbalancedTransaction(ValueError):
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
    app_id: UUID | None = None  # of a partner's fee, owed or on its way

    @property
    def is_held(self) -> bool:
        """Whether it can be paid out.

        The signers' gas money and value at deposit addresses cannot be.
        """
        return self.kind is AccountKind.CUSTODY and self.holder is Holder.TREASURY

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

    `network` and `effective_block` name the chain with the moved custody, and its block.
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
            raise UnbalancedTransaction(f"{self.dedupe_key}: {self.postings}")
        object.__setattr__(self, "id", uuid5(NAMESPACE_URL, f"ledger/{self.dedupe_key}"))
