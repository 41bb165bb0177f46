"""The public models, closed: a member that is not here is never sent.

Amounts are doubles in whole tokens, as the interface says; `amount_in_base_units` is exact.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

NetworkType = Literal[
    "evm",
    "starknet",
    "solana",
    "cosmos",
    "starkex",
    "zksynclite",
    "ton",
    "paradex",
    "tron",
    "fuel",
    "bitcoin",
    "hyperliquid",
    "stellar",
]
SwapStatus = Literal[
    "user_transfer_pending",
    "ls_transfer_pending",
    "completed",
    "failed",
    "expired",
    "pending_refund",
    "refunded",
]


class PublicModel(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TokenModel(PublicModel):
    symbol: str
    display_asset: str
    asset: str
    logo: str
    contract: str | None
    decimals: int
    price_in_usd: float
    precision: float
    listing_date: datetime
    source_rank: int
    destination_rank: int
    group: str | None
    supports_gasless_deposit: bool
    gasless_standard: str


class NetworkMetadata(PublicModel):
    listing_date: datetime
    evm_oracle_contract: str | None
    evm_multicall_contract: str | None
    zks_paymaster_contract: str | None
    watchdog_contract: str | None


class NetworkModel(PublicModel):
    name: str
    display_name: str
    logo: str
    chain_id: str | None
    node_url: str | None
    nodes: list[str] | None
    type: NetworkType
    transaction_explorer_template: str
    account_explorer_template: str
    source_rank: int
    destination_rank: int
    token: TokenModel
    metadata: NetworkMetadata
    deposit_methods: list[str] | None


class NetworkWithTokensModel(NetworkModel):
    tokens: list[TokenModel]


class ReachableTokenModel(TokenModel):
    status: Literal["active", "inactive", "not_found"]


class ReachableNetworkModel(NetworkModel):
    """One network of `GET /sources` and `GET /destinations`."""

    tokens: list[ReachableTokenModel]


class OauthModel(PublicModel):
    authorize_url: str
    connect_url: str


class ExchangeMetadata(PublicModel):
    oauth: OauthModel
    listing_date: datetime


class ExchangeModel(PublicModel):
    name: str
    display_name: str
    logo: str
    metadata: ExchangeMetadata


class SwapMetadataModel(PublicModel):
    sequence_number: int
    reference_id: str | None
    exchange_account: str | None


class TransactionModel(PublicModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True, serialize_by_alias=True)

    from_: str | None = Field(alias="from")
    to: str | None
    timestamp: datetime
    transaction_hash: str | None
    confirmations: int
    max_confirmations: int
    amount: float
    amount_in_usd: float | None
    type: Literal["input", "output", "refuel", "refund", "provider_refund"]
    status: Literal["completed", "initiated", "pending"]
    token: TokenModel
    network: NetworkModel
    fee_amount: float | None
    fee_token: TokenModel


class SwapModel(PublicModel):
    id: str
    created_date: datetime
    close_date: datetime | None
    source_network: NetworkModel
    source_token: TokenModel
    source_exchange: ExchangeModel | None
    destination_network: NetworkModel
    destination_token: TokenModel
    destination_exchange: ExchangeModel | None
    requested_amount: float
    destination_address: str
    source_address: str | None
    status: SwapStatus
    fail_reason: str | None
    use_deposit_address: bool
    metadata: SwapMetadataModel
    transactions: list[TransactionModel]
    quote_revision: int | None
    quote_expires_at: datetime | None
    last_requoted_at: datetime | None
    quote_locked_at: datetime | None
    quote_refreshable: bool | None


class QuotePathModel(PublicModel):
    provider: str
    order: int


class SwapQuoteModel(PublicModel):
    total_fee: float
    total_fee_in_usd: float
    source_network: NetworkModel
    source_token: TokenModel
    destination_network: NetworkModel
    destination_token: TokenModel
    requested_amount: float
    receive_amount: float
    fee_discount: float
    min_receive_amount: float
    blockchain_fee: float
    service_fee: float
    avg_completion_time: str
    refuel_in_source: float | None
    slippage: float
    rate: float
    path: list[QuotePathModel]


class TokenWithAmountModel(PublicModel):
    token: TokenModel
    network: NetworkModel
    amount: float
    amount_in_usd: float


class RewardModel(TokenWithAmountModel):
    campaign_type: str
    nft_contract_address: str | None


class TransferDepositActionModel(PublicModel):
    type: str
    to_address: str | None
    amount: float
    amount_in_base_units: str
    order: int
    network: NetworkModel | None
    token: TokenModel | None
    fee_token: TokenModel | None
    call_data: str | None
    gas_limit: str | None
    encoded_args: list[str] | None
    valid_after: int | None
    valid_before: int | None
    nonce: str | None
    typed_data: dict[str, Any] | None


class DepositActionItemModel(TransferDepositActionModel):
    """One step of the deposit workflow; only the step to do now carries data."""

    step: str
    status: Literal["pending", "action_required", "in_progress", "completed", "expired", "failed"]
    signing_standard: str | None
    expires_at: datetime | None
    detail: str | None


class NextActionModel(PublicModel):
    step: str | None
    status: str
    signing_standard: str | None
    action: TransferDepositActionModel | None
    expires_at: datetime | None
    detail: str | None


class PreparedSwapModel(PublicModel):
    quote: SwapQuoteModel
    refuel: TokenWithAmountModel | None
    reward: RewardModel | None
    swap: SwapModel
    deposit_actions: list[TransferDepositActionModel]
    next_action: NextActionModel | None


class WebhookMetadataModel(SwapMetadataModel):
    sequence: int = Field(description="The swap's event number: the highest is the newest")


class WebhookSwapModel(SwapModel):
    metadata: WebhookMetadataModel


class WebhookPayloadModel(PublicModel):
    """What a webhook about a swap carries."""

    swap: WebhookSwapModel
    quote: SwapQuoteModel
    deposit_actions: list[TransferDepositActionModel]


class DisabledEndpointModel(PublicModel):
    id: str
    url: str
    disabled_at: datetime
    disabled_reason: Literal["operator", "owner", "gone", "failing"]
    failing_since: datetime | None


class EndpointDisabledModel(PublicModel):
    """What `endpoint.disabled` carries."""

    endpoint: DisabledEndpointModel


class QuotedModel(PublicModel):
    """`GET /quote`."""

    quote: SwapQuoteModel
    refuel: TokenWithAmountModel | None
    reward: RewardModel | None


class LimitsModel(PublicModel):
    min_amount: float
    min_amount_in_usd: float
    max_amount: float
    max_amount_in_usd: float


class DetailedPathModel(PublicModel):
    """One provider's part: a fixed cost, in tokens and dollars, and a share of the amount, in %."""

    id: str
    order: int
    provider_name: str
    service_fee_in_source: float
    service_fee_in_usd: float
    service_fee_percentage: float
    expense_in_source: float
    expense_fee_in_usd: float
    expense_fee_percentage: float
    fee_in_source: float
    fee_in_usd: float
    avg_completion_milliseconds: int


class DetailedQuoteModel(PublicModel):
    """One range of `GET /detailed_quote`."""

    avg_completion_milliseconds: int
    min_amount: float
    min_amount_in_usd: float
    max_amount: float
    max_amount_in_usd: float
    fee_amount_for_min: float
    fee_amount_for_max: float
    total_percentage_fee: float
    total_fixed_fee_in_usd: float
    total_fixed_fee_in_source: float
    path: list[DetailedPathModel]


class RateModel(PublicModel):
    """One item of the legacy `POST /api/swap_rate`."""

    min_amount: float
    fee_amount: float
    max_amount: float


class HealthModel(PublicModel):
    status: Literal["ok"]


class ErrorFactsModel(PublicModel):
    """One code of `GET /errors`."""

    code: str
    http_status: int
    retryable: bool
    who_must_act: Literal["caller", "user", "operator"]
    money_at_risk: bool
    meaning: str
    doc_url: str


class ApiErrorModel(PublicModel):
    code: str
    message: str
    metadata: dict[str, Any]
