"""The public models of what can be looked up beside a swap: its past, and how things are."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from swap_contracts.public.change_causes import DESCRIPTION, ChangeCause
from swap_contracts.public.models import PublicModel, SwapStatus


class SwapEventModel(PublicModel):
    """One thing that happened to a swap, in the order of `sequence`."""

    sequence: int
    type: str  # swap.<status> when it moved to one, swap.updated when it moved within one
    from_status: SwapStatus | None
    to_status: SwapStatus
    at: datetime
    cause: ChangeCause | None = Field(description=DESCRIPTION)


class SwapStateModel(PublicModel):
    """What is shown of a swap in a list that is followed live."""

    id: str
    status: SwapStatus


class LedgerPostingModel(PublicModel):
    """What one account gains, or loses where it is negative."""

    account: str
    network: str
    token: str  # its symbol; its address when it has left the catalogue
    amount: float | None  # null when the token has left the catalogue
    amount_in_base_units: str
    decimals: int | None  # of the base units; null as the amount


class LedgerTransactionModel(PublicModel):
    """One entry of a swap's double-entry ledger: its postings add up to nothing in every asset."""

    id: str
    reason: str
    at: datetime
    network: str | None  # where it moved what we hold, with the block that did
    block_number: int | None
    postings: list[LedgerPostingModel]


class QuoteRevisionModel(PublicModel):
    """What one quote of a swap was for: money that differs from it gets another one."""

    revision: int  # 0 for the quote of the creation
    source_decimals: int  # of requested amount and fees
    destination_decimals: int  # of what is received
    requested_in_base_units: str
    receive_in_base_units: str
    min_receive_in_base_units: str
    service_fee_in_base_units: str
    blockchain_fee_in_base_units: str
    total_fee_in_base_units: str  # the sum of the two


class TransactionStatusModel(PublicModel):
    """`GET /transaction_status`."""

    status: Literal["completed", "pending", "failed"]
    network: str
    transaction_id: str
    is_found: bool
    is_completed: bool
    confirmations: int
    max_confirmations: int


class OneProviderCapModel(PublicModel):
    """What of a token one provider's report may confirm within a span, and has confirmed."""

    token: str
    cap_base_units: str
    used_base_units: str


class PublicNetworkStatusModel(PublicModel):
    """How one network is, for everybody."""

    name: str
    display_name: str
    head: int | None  # the newest block that was looked at; null before the first
    head_at: datetime | None
    lag_seconds: int | None  # how old that block is
    liquidity: Literal["available", "partial", "none"]  # tokens that something can be paid out of
    payouts: Literal["running", "stopped"]
    new_swaps: Literal["open", "closed"]  # closed by an operator; swaps under way are paid
    stuck_swaps: int | None  # that started here and nothing moves in time; null until counted


class NetworkStatusModel(PublicNetworkStatusModel):
    """How one network is followed, and what can be paid there."""

    node_providers: int  # whose nodes are asked: with 1, reports are not compared
    deposits_withheld: int  # deep enough, and waiting for a second provider or for room under a cap
    one_provider_caps: list[OneProviderCapModel]  # empty with two providers, and on test networks


class PublicStatusModel(PublicModel):
    """`GET /public/v1/status`."""

    networks: list[PublicNetworkStatusModel]


class StatusModel(PublicModel):
    """`GET /status`."""

    networks: list[NetworkStatusModel]
