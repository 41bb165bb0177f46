"""The public models of what an app earns by its own fee."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from swap_contracts.public.models import PublicModel


class TokenAmountModel(PublicModel):
    """An amount of one token."""

    amount: float | None  # null when the token has left the catalogue
    amount_in_base_units: str
    decimals: int | None  # of the base units; null as the amount


class AppFeesModel(PublicModel):
    """What an app has earned by its own fee in one token: the sum of the other three."""

    network: str
    token: str  # its symbol; its address when it has left the catalogue
    earned: TokenAmountModel
    waiting: TokenAmountModel  # for a payout, which an operator orders
    pending: TokenAmountModel  # in a payout that is not final
    paid_out: TokenAmountModel


class FeeEntryModel(PublicModel):
    """A fee that a swap earned with its final output, or a payout of fees."""

    id: UUID  # of a fee: the transaction of the swap's ledger
    kind: Literal["fee", "payout"]
    at: datetime
    network: str
    token: str  # its symbol; its address when it has left the catalogue
    amount: float | None  # null when the token has left the catalogue
    amount_in_base_units: str
    decimals: int | None  # of the base units; null as the amount
    swap_id: UUID | None  # of a fee
    to_address: str | None  # of a payout, as the rest
    transaction_hash: str | None
    transaction_url: str | None  # in the network's block explorer
    status: Literal["pending", "completed", "failed"] | None  # what failed waits again
