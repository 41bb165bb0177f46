"""The endpoints of swaps, their history, prices, and the catalogue."""

from __future__ import annotations

from typing import Final

from swap_api.admission.decide.rate_limits import Kind
from swap_api.http.endpoints import API, LOOKUP_WEIGHT, PAGED, Endpoint
from swap_api.http.idempotent_requests import REPLAYED_HEADERS
from swap_api.http.parameters import (
    AliasParameters,
    DestinationsParameters,
    ListParameters,
    NetworksParameters,
    PriceParameters,
    QuoteParameters,
    RateBody,
    RefundAddressBody,
    SourcesParameters,
    SpeedUpBody,
    StepsParameters,
    SwapBody,
    SwapParameters,
    TransactionParameters,
)
from swap_api.model.keys import Scope
from swap_api.swaps.http.catalogue import CatalogueEndpoints
from swap_api.swaps.http.history import HistoryEndpoints
from swap_api.swaps.http.pricing import PricingEndpoints
from swap_api.swaps.http.swaps import SwapEndpoints
from swap_contracts.public.errors import ErrorCode
from swap_contracts.public.explaining import ExplainedQuoteModel
from swap_contracts.public.lookups import (
    LedgerTransactionModel,
    PublicStatusModel,
    StatusModel,
    SwapEventModel,
    TransactionStatusModel,
)
from swap_contracts.public.models import (
    DepositActionItemModel,
    DetailedQuoteModel,
    ErrorFactsModel,
    ExchangeModel,
    HealthModel,
    LimitsModel,
    NetworkModel,
    NetworkWithTokensModel,
    PreparedSwapModel,
    QuotedModel,
    RateModel,
    ReachableNetworkModel,
)

PRICE_REFUSALS: Final = (
    ErrorCode.ROUTE_NOT_FOUND_ERROR,
    ErrorCode.LESS_THAN_MIN_ERROR,
    ErrorCode.GREATER_THAN_MAX_ERROR,
    ErrorCode.INSUFFICIENT_LIQUIDITY,
    ErrorCode.CONFLICTING_FUNDING_METHODS,
    ErrorCode.UNSUPPORTED_DEPOSITORY,
    ErrorCode.UNSUPPORTED_GASLESS,
    ErrorCode.QUOTE_REQUIRES_NO_DEPOSIT_ADDRESS,
)
CREATE_REFUSALS: Final = (
    *PRICE_REFUSALS,
    ErrorCode.PAYOUTS_PAUSED,
    ErrorCode.INVALID_ADDRESS_ERROR,
    ErrorCode.BLACKLISTED_ADDRESS,
    ErrorCode.REFUND_ADDRESS_REQUIRED,
    ErrorCode.IDEMPOTENCY_KEY_REUSED,
    ErrorCode.IDEMPOTENCY_KEY_IN_PROGRESS,
    ErrorCode.TOO_MANY_PENDING_SWAPS,
)


def swap_endpoints(swaps: SwapEndpoints) -> list[Endpoint]:
    return [
        Endpoint(
            "POST",
            f"{API}/swaps",
            swaps.create,
            "Create a swap",
            PreparedSwapModel,
            kind=Kind.CREATE,
            body=SwapBody,
            refuses=CREATE_REFUSALS,
            headers=REPLAYED_HEADERS,
        ),
        Endpoint(
            "GET",
            f"{API}/swaps",
            swaps.list_all,
            "List swaps, newest first",
            list[PreparedSwapModel],
            query=ListParameters,
            headers=PAGED,
        ),
        Endpoint(
            "GET",
            f"{API}/swaps/internal",
            swaps.list_by_addresses,
            "List swaps by addresses; alias of `GET /swaps`",
            list[PreparedSwapModel],
            query=AliasParameters,
            headers=PAGED,
        ),
        Endpoint(
            "GET",
            f"{API}/swaps/by_transaction_hash/{{transactionHash}}",
            swaps.read_by_hash,
            "Find a swap by one of its transactions",
            PreparedSwapModel,
            query=StepsParameters,
            refuses=(ErrorCode.INVALID_ADDRESS_ERROR,),
            is_conditional=True,
        ),
        Endpoint(
            "GET",
            f"{API}/swaps/{{swapId}}",
            swaps.read,
            "Read a swap",
            PreparedSwapModel,
            query=SwapParameters,
            refuses=(ErrorCode.INVALID_ADDRESS_ERROR,),
            is_conditional=True,
        ),
        Endpoint(
            "GET",
            f"{API}/experimental/swaps/{{swapId}}",
            swaps.read_next_action,
            "Read a swap with the one thing to do now; the shape may change",
            PreparedSwapModel,
            query=StepsParameters,
            refuses=(ErrorCode.INVALID_ADDRESS_ERROR,),
        ),
        Endpoint(
            "POST",
            f"{API}/swaps/{{swapId}}/refund_address",
            swaps.refund_address,
            "Set the refund address of a swap that has none",
            PreparedSwapModel,
            scope=Scope.SECRET,
            body=RefundAddressBody,
            refuses=(
                ErrorCode.INVALID_ADDRESS_ERROR,
                ErrorCode.BLACKLISTED_ADDRESS,
            ),
        ),
        Endpoint(
            "POST",
            f"{API}/swaps/{{swapId}}/deposit_speedup",
            swaps.deposit_speedup,
            "Name the transaction that pays, so that it is looked up at once",
            type(None),
            body=SpeedUpBody,
            refuses=(),
        ),
        Endpoint(
            "GET",
            f"{API}/swaps/{{swapId}}/deposit_actions",
            swaps.deposit_steps,
            "List what the user has to do, step by step",
            list[DepositActionItemModel],
            query=StepsParameters,
            refuses=(
                ErrorCode.SOURCE_ADDRESS_REQUIRED,
                ErrorCode.INVALID_ADDRESS_ERROR,
                ErrorCode.UNSUPPORTED_GASLESS,
                ErrorCode.LIMIT_REACHED,
            ),
        ),
    ]


def history_endpoints(history: HistoryEndpoints) -> list[Endpoint]:
    return [
        Endpoint(
            "GET",
            f"{API}/swaps/{{swapId}}/events",
            history.events,
            "List what happened to a swap; `Accept: text/event-stream` follows it live",
            list[SwapEventModel],
            is_live=True,
        ),
        Endpoint(
            "GET",
            f"{API}/swaps/{{swapId}}/ledger",
            history.ledger,
            "List what was booked for a swap",
            list[LedgerTransactionModel],
            scope=Scope.SECRET,
        ),
        Endpoint(
            "GET",
            f"{API}/transaction_status",
            history.transaction_status,
            "Read how far a transaction is",
            TransactionStatusModel,
            weight=LOOKUP_WEIGHT,
            query=TransactionParameters,
            identifies_by_query=True,
        ),
    ]


def pricing_endpoints(pricing: PricingEndpoints) -> list[Endpoint]:
    return [
        Endpoint(
            "GET",
            f"{API}/quote",
            pricing.quote,
            "Price a swap",
            QuotedModel | ExplainedQuoteModel,
            kind=Kind.PRICE,
            query=QuoteParameters,
            refuses=(
                *PRICE_REFUSALS,
                ErrorCode.INVALID_ADDRESS_ERROR,
                ErrorCode.BLACKLISTED_ADDRESS,
            ),
            is_matched_first=True,
        ),
        Endpoint(
            "GET",
            f"{API}/limits",
            pricing.limits,
            "Read how little and how much a route takes",
            LimitsModel,
            kind=Kind.PRICE,
            query=PriceParameters,
            refuses=PRICE_REFUSALS,
        ),
        Endpoint(
            "GET",
            f"{API}/detailed_quote",
            pricing.detailed_quote,
            "Read what a route costs between which amounts",
            list[DetailedQuoteModel],
            kind=Kind.PRICE,
            query=PriceParameters,
            refuses=PRICE_REFUSALS,
        ),
        Endpoint(
            "POST",
            "/api/swap_rate",
            pricing.rates,
            "Read what a route costs, as clients of the first version ask",
            list[RateModel],
            kind=Kind.PRICE,
            scope=Scope.NO_KEY,
            body=RateBody,
            refuses=(ErrorCode.ROUTE_NOT_FOUND_ERROR,),
        ),
    ]


def service_endpoints(pricing: PricingEndpoints) -> list[Endpoint]:
    # The group stays PricingEndpoints: operation ids are made of its name.
    return [
        Endpoint(
            "GET", f"{API}/errors", pricing.errors, "List every error code", list[ErrorFactsModel]
        ),
        Endpoint(
            "GET",
            f"{API}/health",
            pricing.health,
            "Check that the API runs",
            HealthModel,
            needs_process_alone=True,
        ),
    ]


def catalogue_endpoints(catalogue: CatalogueEndpoints) -> list[Endpoint]:
    return [
        Endpoint(
            "GET",
            f"{API}/networks",
            catalogue.networks,
            "List networks with their tokens",
            list[NetworkWithTokensModel],
            query=NetworksParameters,
            is_matched_first=True,
            is_conditional=True,
        ),
        Endpoint(
            "GET",
            f"{API}/status",
            catalogue.status,
            "Read how every network is",
            StatusModel,
        ),
        Endpoint(
            "GET",
            "/public/v1/status",
            catalogue.public_status,
            "Read how every network is, without a key",
            PublicStatusModel,
            scope=Scope.NO_KEY,
        ),
        Endpoint(
            "GET",
            f"{API}/sources",
            catalogue.sources,
            "List what a swap can start from",
            list[ReachableNetworkModel],
            query=SourcesParameters,
            refuses=(ErrorCode.ROUTE_NOT_FOUND_ERROR,),
        ),
        Endpoint(
            "GET",
            f"{API}/destinations",
            catalogue.destinations,
            "List what a swap can end at",
            list[ReachableNetworkModel],
            query=DestinationsParameters,
            refuses=(ErrorCode.ROUTE_NOT_FOUND_ERROR,),
        ),
        Endpoint(
            "GET",
            f"{API}/source_exchanges",
            catalogue.source_exchanges,
            "List exchanges to fund a swap from",
            list[ExchangeModel],
        ),
        Endpoint(
            "GET",
            f"{API}/exchange_withdrawal_networks",
            catalogue.withdrawal_networks,
            "List networks that an exchange withdraws to",
            list[NetworkModel],
        ),
    ]
