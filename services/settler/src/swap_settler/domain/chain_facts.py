"""Facts that the chain watcher reports, in the types that decisions use."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from swap_settler.domain.swap import Deposit


class FactState(StrEnum):
    SEEN = "seen"
    CONFIRMED = "confirmed"  # final under the token's tier, or the network's policy
    REVERTED = "reverted"


@dataclass(frozen=True, slots=True)
class DepositFact:
    """A movement of value to an address of the service.

    The deposit is as it would be if nothing was known of it; what was decided about it before is
    taken over by whoever applies the fact.
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
