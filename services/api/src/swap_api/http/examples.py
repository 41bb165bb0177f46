"""Examples for the OpenAPI document, made from the models, so that none can be forgotten.

A member's value is found by model and name, then by name, then by type. A test holds every
example to its model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter

from swap_contracts.public.errors import ERRORS, ErrorCode
from swap_contracts.public.lookups import SwapEventModel, SwapStateModel

ADDRESS: Final = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
TREASURY: Final = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
TOKEN: Final = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
HASH: Final = "0x8a7d953f45ab0d0b9a33e1d8b6b6a6d9bb1b1e54b1e0ad0f9d0c3a4e8a1d2f6b"
SWAP_ID: Final = "5f0b2f3c-6b1e-4f7e-9d3c-1a2b3c4d5e6f"
MOMENT: Final = "2026-01-31T12:00:00+00:00"
REQUEST_ID: Final = "0c7e8f0a5c1b4b0f0000000000000001"

BY_MODEL: Final[Mapping[str, Any]] = {
    "PriceSourceModel.source": "file",
    "ExplainedGasModel.units": {"payout": 95_000, "refuel": 75_000},
    "ExplainedGasModel.wei_per_unit": "1500000000",
    "StepModel.name": "receive",
    "StepModel.formula": "floor(converted × rate_numerator ÷ rate_denominator)",
    "StepModel.value": "25454500",
    "ExplanationModel.amount": {
        "member": "amount",
        "sent": "25.5000001",
        "used": "25.5",
        "used_base_units": "25500000",
        "is_cut": True,
    },
    "RejectedModel.code": ErrorCode.UNSUPPORTED_GASLESS.value,
    "RejectedModel.message": "This token cannot be deposited by a signature",
    "RejectedModel.method": "gasless",
    "ExplanationModel.method": "depository",
    "DisabledEndpointModel.id": "0b7c1c52-5a3e-4b53-8d1c-3c1f4e7b9a10",
    "DisabledEndpointModel.url": "https://hooks.example.com/swaps",
    "ExchangeModel.display_name": "An exchange",
    "ExchangeModel.name": "AN_EXCHANGE",
    "ExchangeMetadata.oauth": {"authorize_url": "", "connect_url": ""},
    "LedgerPostingModel.account": "liability:swap",
    "LedgerPostingModel.network": "ETHEREUM_DEVNET",
    "LedgerPostingModel.token": TOKEN,
    "LedgerTransactionModel.network": "ETHEREUM_DEVNET",
    "LedgerTransactionModel.reason": "deposit",
    "LoneTransferModel.network": "ETHEREUM_DEVNET",
    "LoneTransferModel.text": (
        f"Use my transfer for a swap\n\nSwap: {SWAP_ID}\n"
        f"Network: ETHEREUM_DEVNET (chain id 31337)\nTransaction: {HASH}\n"
        "Transfer: 7d2f1c9a-4b6e-5f80-9c3d-2e1f0a9b8c7d\n"
        f"Amount: 25500000 base units of {TOKEN}\n"
        f"Received by the service at: {TREASURY}\n"
        f"Paid out to: {ADDRESS} on BASE_DEVNET\n\n"
        "Signing this gives the transfer to that recipient. Sign only if you know the address."
    ),
    "LoneTransferModel.to_address": TREASURY,
    "LoneTransferModel.token": TOKEN,
    "LoneTransferModel.transfer_id": "7d2f1c9a-4b6e-5f80-9c3d-2e1f0a9b8c7d",
    "NextActionModel.status": "action_required",
    "AccessTokenModel.label": "laptop",
    "AppModel.name": "checkout",
    "AuditEntryModel.action": "key.added",
    "AuditEntryModel.actor": "ada@shop.example",
    "AuditEntryModel.id": 1,
    "KeyModel.label": "shop 1",
    "MeModel.name": "ada@shop.example",
    "OrganizationModel.name": "Shop",
    "TokenModel.display_asset": "USDC",
    "TransactionModel.type": "input",
    "TransactionModel.status": "completed",
    "TransactionStatusModel.network": "ETHEREUM_DEVNET",
    "TransactionStatusModel.transaction_id": HASH,
    "TransferDepositActionModel.type": "transfer",
    "WebhookMetadataModel.sequence": 1,
}
BY_NAME: Final[Mapping[str, Any]] = {
    "allowed_origins": ["https://shop.example"],
    "frame_origins": ["https://shop.example"],
    "usd_e18": "1000000000000000000",
    "min_usd_e18": "1000000000000000000",
    "max_usd_e18": "50000000000000000000000",
    "available_base_units": "900000000000",
    "min_base_units": "1000000",
    "max_base_units": "50000000000",
    "route_max_base_units": "50000000000",
    "payable_max_base_units": "899000000000",
    "account_explorer_template": "https://explorer.example/address/{0}",
    "amount": 25.5,
    "amount_in_base_units": "25500000",
    "amount_in_usd": 25.5,
    "asset": "USDC",
    "avg_completion_milliseconds": 14_200,
    "avg_completion_time": "00:00:14.200",
    "call_data": "0xa9059cbb",
    "chain_id": "31337",
    "close_date": None,
    "code": ErrorCode.NOT_FOUND.value,
    "confirmations": 12,
    "contract": TOKEN,
    "decimals": 6,
    "deposit_methods": ["wallet"],
    "destination_address": ADDRESS,
    "destination_exchange": None,
    "detail": None,
    "doc_url": "/docs/errors#not-found",
    "display_asset": "USDC",
    "display_name": "Ethereum Devnet",
    "encoded_args": [TREASURY, "25500000"],
    "evm_multicall_contract": None,
    "evm_oracle_contract": None,
    "exchange_account": None,
    "fail_reason": None,
    "failing_since": MOMENT,
    "fee_amount": 0.0004,
    "fee_discount": 0.0,
    "from": ADDRESS,
    "from_address": ADDRESS,
    "gas_limit": "80000",
    "gasless_standard": "",
    "group": "USDC",
    "http_status": 404,
    "id": SWAP_ID,
    "last_four": "9f3c",
    "last_requoted_at": None,
    "logo": "https://logos.example/usdc.svg",
    "max_confirmations": 12,
    "meaning": "There is nothing here.",
    "name": "ETHEREUM_DEVNET",
    "next_action": None,
    "node_url": "https://node.example",
    "nodes": ["https://node.example"],
    "nonce": None,
    "order": 1,
    "precision": 6.0,
    "price_in_usd": 1.0,
    "provider": "SOLVER",
    "provider_name": "SOLVER",
    "quote_locked_at": None,
    "rate": 1.0,
    "receive_amount": 25.4,
    "reference_id": "order-1001",
    "refuel": None,
    "refuel_in_source": None,
    "requested_amount": 25.5,
    "reward": None,
    "sequence_number": 4_503_599_627_370_497,
    "signing_standard": None,
    "slippage": 0.001,
    "source_address": ADDRESS,
    "source_exchange": None,
    "step": "deposit",
    "symbol": "USDC",
    "to": TREASURY,
    "to_address": TOKEN,
    "transaction_explorer_template": "https://explorer.example/tx/{0}",
    "transaction_hash": HASH,
    "type": "evm",
    "typed_data": None,
    "valid_after": None,
    "valid_before": None,
    "watchdog_contract": None,
    "who_must_act": "caller",
    "zks_paymaster_contract": None,
}
BY_FORMAT: Final[Mapping[str, Any]] = {"date-time": MOMENT, "date": MOMENT[:10], "uuid": SWAP_ID}
BY_TYPE: Final[Mapping[str, Any]] = {
    "string": "text",
    "integer": 1,
    "number": 0.1,
    "boolean": False,
    "object": {},
    "null": None,
}
# What a reader would look for and not find, because the first of several values is not it.
STATUSES: Final[Mapping[str, str]] = {
    "SwapModel.status": "user_transfer_pending",
    "DepositActionItemModel.status": "action_required",
    "PayTransactionModel.type": "input",
    "PayTransactionModel.status": "completed",
    "PaySwapModel.status": "user_transfer_pending",
    "SwapEventModel.type": "swap.user_transfer_pending",
    "SwapEventModel.from_status": "user_transfer_pending",
    "SwapEventModel.to_status": "ls_transfer_pending",
    "SwapEventModel.cause": "deposit_confirmed",
}


LIVE_EXAMPLES: Final[Mapping[Any, str]] = {
    list[SwapEventModel]: (
        "retry: 1000\n\nid: 2\n"
        'data: {"sequence":2,"type":"swap.ls_transfer_pending",'
        '"from_status":"user_transfer_pending",'
        f'"to_status":"ls_transfer_pending","at":"{MOMENT}","cause":"deposit_confirmed"}}\n\n'
    ),
    list[SwapStateModel]: (
        f'retry: 1000\n\nid: {"5f" * 32}\ndata: [{{"id":"{SWAP_ID}","status":"completed"}}]\n\n'
    ),
}


def example_of(answers: Any) -> Any:
    """Return an example of a type, as it stands in an answer."""
    schema = TypeAdapter(answers).json_schema(mode="serialization")
    return _Examples(schema.get("$defs", {})).of(schema)


def refusal_example(code: ErrorCode, doc_url: str) -> dict[str, Any]:
    """Return an answer with an error."""
    metadata: dict[str, Any] = {"request_id": REQUEST_ID, "doc_url": doc_url}
    if code is ErrorCode.VALIDATION_ERROR:
        metadata["field_errors"] = {"amount": "must be a number"}
    if code in (ErrorCode.LESS_THAN_MIN_ERROR, ErrorCode.GREATER_THAN_MAX_ERROR):
        metadata["AmountLimit"] = 1.5
    if code is ErrorCode.IDEMPOTENCY_ANSWER_NOT_KEPT:
        metadata["id"] = SWAP_ID
    error = {"code": code.value, "message": ERRORS[code].meaning, "metadata": metadata}
    return {"data": None, "error": error}


class _Examples:
    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions

    def of(self, schema: Mapping[str, Any], model: str = "", member: str = "") -> Any:
        for values, key in (
            (STATUSES, f"{model}.{member}"),
            (BY_MODEL, f"{model}.{member}"),
            (BY_NAME, member),
        ):
            if key in values:
                return values[key]
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            return self._model(name, self._definitions[name])
        if "anyOf" in schema:
            return self.of(schema["anyOf"][0])
        if "properties" in schema:
            return self._model(schema.get("title", ""), schema)
        return self._plain(schema)

    def _model(self, name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        return {
            member: self.of(how, name, member)
            for member, how in schema.get("properties", {}).items()
        }

    def _plain(self, schema: Mapping[str, Any]) -> Any:
        if "enum" in schema:
            return schema["enum"][0]
        if "const" in schema:
            return schema["const"]
        if schema.get("type") == "array":
            return [self.of(schema["items"])]
        if (form := schema.get("format", "")) in BY_FORMAT:
            return BY_FORMAT[form]
        return BY_TYPE.get(schema.get("type", "null"))
