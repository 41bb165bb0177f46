"""Facts that the chain watcher reports, in the types that decisions use."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from swap_settler.model.swap import Deposit


class FactState(StrEnum):
    SEEN = "seen"
    CONFIRMED = "confirmed"  # final under the token's tier, or the network's policy
    REVERTED = "reverted"


@dataclass(frozen=True, slots=True)
class DepositFact:
    """A movement of value to an address of the service.

    The deposit is built from the fact alone. Earlier decisions about it are added when the fact is
    applied.
    """

    state: FactState
    deposit: Deposit


@dataclass(frozen=True, slots=True)
class PayoutFact:
    """The state of one `Paid` log of the Treasury."""

    paid_id: int
    version: int
    state: FactState
    network: str
    transaction_hash: str
    block_number: int
    block_hash: str
    block_time: datetime
    token: str
    to_address: str
    base_units: int


BALANCE_MAX: Final = 2**128  # no token of a catalogue has as many base units in all


@dataclass(frozen=True, slots=True)
class SweptFact:
    """The factory's log and its state."""

    id: UUID
    version: int
    state: str
    network: str
    token: str
    from_address: str
    base_units: int
    transaction_hash: str
    block_number: int
    block_hash: str
    block_time: datetime

    @property
    def is_quarantined(self) -> bool:
        """Whether the amount exceeds any possible balance: it is recorded, and never booked."""
        return self.base_units > BALANCE_MAX
