"""The public models of a pay link: what the payer of one swap sees of it, and nothing more."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import ConfigDict, Field

from swap_contracts.public.lookups import SwapEventModel
from swap_contracts.public.models import (
    NetworkModel,
    NextActionModel,
    PublicModel,
    SwapStatus,
    TokenModel,
    TokenWithAmountModel,
)


class PayLinkModel(PublicModel):
    """A link to the pay page of a swap."""

    read_token: str = Field(description="Sent as `Authorization: Bearer` to `/pay/v1`")
    url: str | None = Field(description="Of the pay page; null where the deployment has none")
    may_set_refund_address: bool


class PayTransactionModel(PublicModel):
    """A transaction of the swap, without its fee."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, serialize_by_alias=True)

    from_: str | None = Field(alias="from")
    to: str | None
    timestamp: datetime
    transaction_hash: str | None
    confirmations: int
    max_confirmations: int
    amount: float
    type: Literal["input", "output", "refuel", "refund", "provider_refund"]
    status: Literal["completed", "initiated", "pending"]
    token: TokenModel
    network: NetworkModel


class PaySwapModel(PublicModel):
    """One swap as its payer sees it: no fee, no reference, nothing of the partner's."""

    id: str
    status: SwapStatus
    fail_reason: str | None
    created_date: datetime
    close_date: datetime | None
    expires_at: datetime  # of the wait for a deposit
    source_network: NetworkModel
    source_token: TokenModel
    destination_network: NetworkModel
    destination_token: TokenModel
    requested_amount: float
    first_requested_amount: float | None  # of a quote that another sum, or a late one, replaced
    receive_amount: float
    min_receive_amount: float
    refuel: TokenWithAmountModel | None
    source_address: str | None
    destination_address: str
    refund_address: str | None
    may_set_refund_address: bool  # by this link, now
    frame_origins: list[str]  # sites that may show the page in a frame
    transactions: list[PayTransactionModel]
    timeline: list[SwapEventModel]
    next_action: NextActionModel | None
