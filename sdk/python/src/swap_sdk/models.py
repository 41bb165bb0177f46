"""What every answer holds. Generated from the public models by `make generate`."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

SwapStatus = Literal[
    "user_transfer_pending",
    "ls_transfer_pending",
    "completed",
    "failed",
    "expired",
    "pending_refund",
    "refunded",
]

ChangeCause = Literal[
    "swap_requested",
    "refund_address_set",
    "deposit_seen",
    "deposit_confirmed",
    "deposit_reverted",
    "deposit_matched",
    "deposit_attached",
    "deposit_attached_by_operator",
    "authorization_submitted",
    "authorization_refused",
    "authorization_sent",
    "authorization_ended",
    "deadline_passed",
    "requoted",
    "requote_refused",
    "payout_sent",
    "payout_mined",
    "payout_confirmed",
    "payout_reverted",
    "payout_abandoned",
    "refuel_sent",
    "refuel_mined",
    "refuel_confirmed",
    "refuel_reverted",
    "refuel_abandoned",
    "refuel_overdue",
    "refund_started",
    "refund_below_cost",
    "refund_overdue",
    "refund_sent",
    "refund_mined",
    "refund_confirmed",
    "refund_reverted",
    "refund_abandoned",
    "payment_ordered",
    "payment_reconciled",
]


class ApiError(TypedDict):
    code: str
    message: str
    metadata: dict[str, Any]


class AuthorizationTransaction(TypedDict):
    transaction_id: str
    transaction_hash: str
    status: Literal["initiated", "completed", "failed"]
    confirmations: int
    max_confirmations: int


class Authorization(TypedDict):
    status: str
    transaction: AuthorizationTransaction | None


class NetworkMetadata(TypedDict):
    listing_date: str
    evm_oracle_contract: str | None
    evm_multicall_contract: str | None
    zks_paymaster_contract: str | None
    watchdog_contract: str | None


class Token(TypedDict):
    symbol: str
    display_asset: str
    asset: str
    logo: str
    contract: str | None
    decimals: int
    price_in_usd: float
    precision: float
    listing_date: str
    source_rank: int
    destination_rank: int
    group: str | None
    supports_gasless_deposit: bool
    gasless_standard: str


class Network(TypedDict):
    name: str
    display_name: str
    logo: str
    chain_id: str | None
    node_url: str | None
    nodes: list[str] | None
    type: Literal[
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
    transaction_explorer_template: str
    account_explorer_template: str
    source_rank: int
    destination_rank: int
    token: Token
    metadata: NetworkMetadata
    deposit_methods: list[str] | None


class DepositActionItem(TypedDict):
    type: str
    to_address: str | None
    amount: float
    amount_in_base_units: str
    order: int
    network: Network | None
    token: Token | None
    fee_token: Token | None
    call_data: str | None
    gas_limit: str | None
    encoded_args: list[str] | None
    valid_after: int | None
    valid_before: int | None
    nonce: str | None
    typed_data: dict[str, Any] | None
    step: str
    status: Literal["pending", "action_required", "in_progress", "completed", "expired", "failed"]
    signing_standard: str | None
    expires_at: str | None
    detail: str | None


class DetailedPath(TypedDict):
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


class DetailedQuote(TypedDict):
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
    path: list[DetailedPath]


class DisabledEndpoint(TypedDict):
    id: str
    url: str
    disabled_at: str
    disabled_reason: Literal["operator", "owner", "gone", "failing"]
    failing_since: str | None


class EndpointDisabled(TypedDict):
    endpoint: DisabledEndpoint


class ErrorFacts(TypedDict):
    code: str
    http_status: int
    retryable: bool
    who_must_act: Literal["caller", "user", "operator"]
    money_at_risk: bool
    meaning: str
    doc_url: str


class Oauth(TypedDict):
    authorize_url: str
    connect_url: str


class ExchangeMetadata(TypedDict):
    oauth: Oauth
    listing_date: str


class Exchange(TypedDict):
    name: str
    display_name: str
    logo: str
    metadata: ExchangeMetadata


class ExplainedGas(TypedDict):
    network: str
    wei_per_unit: str
    at: str
    age_milliseconds: int
    units: dict[str, Any]


class ExplainedLimits(TypedDict):
    min_base_units: str
    max_base_units: str
    route_max_base_units: str
    payable_max_base_units: str


class PriceSource(TypedDict):
    source: str
    usd_e18: str
    at: str


class ExplainedPrice(TypedDict):
    symbol: str
    usd_e18: str
    at: str
    age_milliseconds: int
    sources: list[PriceSource]


class FeeRow(TypedDict):
    service_fee_basis_points: int
    partner_fee_basis_points: int
    slippage_ppm: int
    min_usd_e18: str
    max_usd_e18: str
    quote_lifetime_seconds: int


class Inventory(TypedDict):
    network: str
    token: str
    available_base_units: str


class ParsedAmount(TypedDict):
    member: Literal["amount", "receive_amount"]
    sent: str
    used: str
    used_base_units: str
    is_cut: bool


class Rejected(TypedDict):
    provider: str
    method: str
    code: str
    message: str


class Step(TypedDict):
    name: str
    formula: str
    value: str


class Explanation(TypedDict):
    at: str
    provider: str
    method: str
    prices: list[ExplainedPrice]
    gas: list[ExplainedGas]
    fees: FeeRow
    inventory: list[Inventory]
    limits: ExplainedLimits
    steps: list[Step]
    rejected: list[Rejected]
    amount: ParsedAmount


class Reward(TypedDict):
    token: Token
    network: Network
    amount: float
    amount_in_usd: float
    campaign_type: str
    nft_contract_address: str | None


class QuotePath(TypedDict):
    provider: str
    order: int


class SwapQuote(TypedDict):
    total_fee: float
    total_fee_in_usd: float
    source_network: Network
    source_token: Token
    destination_network: Network
    destination_token: Token
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
    path: list[QuotePath]


class TokenWithAmount(TypedDict):
    token: Token
    network: Network
    amount: float
    amount_in_usd: float


class ExplainedQuote(TypedDict):
    quote: SwapQuote
    refuel: TokenWithAmount | None
    reward: Reward | None
    explanation: Explanation


class Health(TypedDict):
    status: Literal["ok"]


class LedgerPosting(TypedDict):
    account: str
    network: str
    token: str
    amount: float | None
    amount_in_base_units: str
    decimals: int | None


class LedgerTransaction(TypedDict):
    id: str
    reason: str
    at: str
    network: str | None
    block_number: int | None
    postings: list[LedgerPosting]


class Limits(TypedDict):
    min_amount: float
    min_amount_in_usd: float
    max_amount: float
    max_amount_in_usd: float


class LoneTransfer(TypedDict):
    transfer_id: str
    status: Literal["attachable", "submitted", "attached", "taken"]
    network: str
    transaction_hash: str
    token: str
    amount_in_base_units: str
    from_address: str
    to_address: str
    text: str


class OneProviderCap(TypedDict):
    token: str
    cap_base_units: str
    used_base_units: str


class NetworkStatus(TypedDict):
    name: str
    display_name: str
    head: int | None
    head_at: str | None
    lag_seconds: int | None
    liquidity: Literal["available", "partial", "none"]
    payouts: Literal["running", "stopped"]
    new_swaps: Literal["open", "closed"]
    stuck_swaps: int | None
    node_providers: int
    deposits_withheld: int
    one_provider_caps: list[OneProviderCap]


class NetworkWithTokens(TypedDict):
    name: str
    display_name: str
    logo: str
    chain_id: str | None
    node_url: str | None
    nodes: list[str] | None
    type: Literal[
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
    transaction_explorer_template: str
    account_explorer_template: str
    source_rank: int
    destination_rank: int
    token: Token
    metadata: NetworkMetadata
    deposit_methods: list[str] | None
    tokens: list[Token]


class TransferDepositAction(TypedDict):
    type: str
    to_address: str | None
    amount: float
    amount_in_base_units: str
    order: int
    network: Network | None
    token: Token | None
    fee_token: Token | None
    call_data: str | None
    gas_limit: str | None
    encoded_args: list[str] | None
    valid_after: int | None
    valid_before: int | None
    nonce: str | None
    typed_data: dict[str, Any] | None


class NextAction(TypedDict):
    step: str | None
    status: str
    signing_standard: str | None
    action: TransferDepositAction | None
    expires_at: str | None
    detail: str | None


class PayLink(TypedDict):
    read_token: str
    url: str | None
    may_set_refund_address: bool


PayTransaction = TypedDict(
    "PayTransaction",
    {
        "from": str | None,
        "to": str | None,
        "timestamp": str,
        "transaction_hash": str | None,
        "confirmations": int,
        "max_confirmations": int,
        "amount": float,
        "type": Literal["input", "output", "refuel", "refund", "provider_refund"],
        "status": Literal["completed", "initiated", "pending"],
        "token": Token,
        "network": Network,
    },
)


class SwapEvent(TypedDict):
    sequence: int
    type: str
    from_status: SwapStatus | None
    to_status: SwapStatus
    at: str
    cause: ChangeCause | None


class PaySwap(TypedDict):
    id: str
    status: SwapStatus
    fail_reason: str | None
    created_date: str
    close_date: str | None
    expires_at: str
    source_network: Network
    source_token: Token
    destination_network: Network
    destination_token: Token
    requested_amount: float
    first_requested_amount: float | None
    receive_amount: float
    min_receive_amount: float
    refuel: TokenWithAmount | None
    source_address: str | None
    destination_address: str
    refund_address: str | None
    may_set_refund_address: bool
    frame_origins: list[str]
    transactions: list[PayTransaction]
    timeline: list[SwapEvent]
    next_action: NextAction | None


class SwapMetadata(TypedDict):
    sequence_number: int
    reference_id: str | None
    exchange_account: str | None


Transaction = TypedDict(
    "Transaction",
    {
        "from": str | None,
        "to": str | None,
        "timestamp": str,
        "transaction_hash": str | None,
        "confirmations": int,
        "max_confirmations": int,
        "amount": float,
        "amount_in_usd": float | None,
        "type": Literal["input", "output", "refuel", "refund", "provider_refund"],
        "status": Literal["completed", "initiated", "pending"],
        "token": Token,
        "network": Network,
        "fee_amount": float | None,
        "fee_token": Token,
    },
)


class Swap(TypedDict):
    id: str
    created_date: str
    close_date: str | None
    source_network: Network
    source_token: Token
    source_exchange: Exchange | None
    destination_network: Network
    destination_token: Token
    destination_exchange: Exchange | None
    requested_amount: float
    destination_address: str
    source_address: str | None
    status: SwapStatus
    fail_reason: str | None
    use_deposit_address: bool
    metadata: SwapMetadata
    transactions: list[Transaction]
    quote_revision: int | None
    quote_expires_at: str | None
    last_requoted_at: str | None
    quote_locked_at: str | None
    quote_refreshable: bool | None


class PreparedSwap(TypedDict):
    quote: SwapQuote
    refuel: TokenWithAmount | None
    reward: Reward | None
    swap: Swap
    deposit_actions: list[TransferDepositAction]
    next_action: NextAction | None


class PublicNetworkStatus(TypedDict):
    name: str
    display_name: str
    head: int | None
    head_at: str | None
    lag_seconds: int | None
    liquidity: Literal["available", "partial", "none"]
    payouts: Literal["running", "stopped"]
    new_swaps: Literal["open", "closed"]
    stuck_swaps: int | None


class PublicStatus(TypedDict):
    networks: list[PublicNetworkStatus]


class QuoteRevision(TypedDict):
    revision: int
    source_decimals: int
    destination_decimals: int
    requested_in_base_units: str
    receive_in_base_units: str
    min_receive_in_base_units: str
    service_fee_in_base_units: str
    blockchain_fee_in_base_units: str
    total_fee_in_base_units: str


class Quoted(TypedDict):
    quote: SwapQuote
    refuel: TokenWithAmount | None
    reward: Reward | None


class Rate(TypedDict):
    min_amount: float
    fee_amount: float
    max_amount: float


class ReachableToken(TypedDict):
    symbol: str
    display_asset: str
    asset: str
    logo: str
    contract: str | None
    decimals: int
    price_in_usd: float
    precision: float
    listing_date: str
    source_rank: int
    destination_rank: int
    group: str | None
    supports_gasless_deposit: bool
    gasless_standard: str
    status: Literal["active", "inactive", "not_found"]


class ReachableNetwork(TypedDict):
    name: str
    display_name: str
    logo: str
    chain_id: str | None
    node_url: str | None
    nodes: list[str] | None
    type: Literal[
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
    transaction_explorer_template: str
    account_explorer_template: str
    source_rank: int
    destination_rank: int
    token: Token
    metadata: NetworkMetadata
    deposit_methods: list[str] | None
    tokens: list[ReachableToken]


class Status(TypedDict):
    networks: list[NetworkStatus]


class SwapState(TypedDict):
    id: str
    status: SwapStatus


class TransactionStatus(TypedDict):
    status: Literal["completed", "pending", "failed"]
    network: str
    transaction_id: str
    is_found: bool
    is_completed: bool
    confirmations: int
    max_confirmations: int


class WebhookMetadata(TypedDict):
    sequence_number: int
    reference_id: str | None
    exchange_account: str | None
    sequence: int


class WebhookSwap(TypedDict):
    id: str
    created_date: str
    close_date: str | None
    source_network: Network
    source_token: Token
    source_exchange: Exchange | None
    destination_network: Network
    destination_token: Token
    destination_exchange: Exchange | None
    requested_amount: float
    destination_address: str
    source_address: str | None
    status: SwapStatus
    fail_reason: str | None
    use_deposit_address: bool
    metadata: WebhookMetadata
    transactions: list[Transaction]
    quote_revision: int | None
    quote_expires_at: str | None
    last_requoted_at: str | None
    quote_locked_at: str | None
    quote_refreshable: bool | None


class WebhookPayload(TypedDict):
    swap: WebhookSwap
    quote: SwapQuote
    deposit_actions: list[TransferDepositAction]
