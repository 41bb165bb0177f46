"""Money on its way to the Treasury and out of it, apart from swaps: sweeps and withdrawals."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from swap_domain.money import Rounding, convert
from swap_settler.model.ledger.inventory import AssetKey


@dataclass(frozen=True, slots=True)
class DueSweep:
    """One token at one address that may be worth sweeping."""

    network: str
    address: str
    token: str
    sequence_number: int
    base_units: int  # what the ledger has there, and no sweep that was seen has taken
    is_out: bool  # a sweep of it is on its way
    decimals: int | None  # of the swap's source token; None for another, which has no price
    token_usd_e18: int
    native_usd_e18: int
    is_ordered: bool = False  # by an operator, whatever it is worth

    def is_worth(self, *, gas: int, max_fee_per_gas: int, native_decimals: int) -> bool:
        """Whether it is worth more than the gas of its sweep, at the prices of its swap's quote."""
        if self.is_ordered or self.decimals is None:
            return self.is_ordered
        cost = convert(
            gas * max_fee_per_gas,
            numerator=self.native_usd_e18 * 10**self.decimals,
            denominator=self.token_usd_e18 * 10**native_decimals,
            rounding=Rounding.UP,
        )
        return self.base_units > cost


@dataclass(frozen=True, slots=True)
class UnbookedSweep:
    """A final sweep that the ledger does not have, and what the ledger has at its address."""

    id: UUID
    network: str
    token: str
    from_address: str
    base_units: int
    block_number: int
    booked_base_units: int
    is_assigned: bool  # the address is a swap's
    transaction_hash: str
    block_hash: str
    block_time: datetime

    @property
    def place(self) -> tuple[str, str]:
        return self.network, self.from_address


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """The Treasury's log and its state."""

    id: UUID
    version: int
    state: str
    network: str
    token: str
    treasury: str
    to_address: str
    base_units: int
    transaction_hash: str
    block_number: int
    block_hash: str
    block_time: datetime

    @property
    def asset(self) -> AssetKey:
        return self.network, self.token
