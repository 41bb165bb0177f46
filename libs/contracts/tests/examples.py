"""One message of every kind, with values that are easy to recognise."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from swap_contracts.quoting import AssetRef, PathStep, Quote
from swap_contracts.swaps import SwapChanged, SwapTransaction

SWAP_ID = UUID("7d1f6a52-3f0e-4b57-9f6e-0d6f0c3f9a11")
APP_ID = UUID("11111111-2222-4333-8444-555555555555")
NATIVE = "0x0000000000000000000000000000000000000000"
USDC = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
ALICE = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
TREASURY = "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512"
HASH = "0x" + "ab" * 32
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ETHER = AssetRef(network="ETHEREUM_DEVNET", token=NATIVE, decimals=18)
DOLLAR = AssetRef(network="BASE_DEVNET", token=USDC, decimals=6)


def a_quote(**changes: Any) -> Quote:
    values: dict[str, Any] = {
        "source": ETHER,
        "destination": DOLLAR,
        "requested_base_units": "1000000000000000000",
        "receive_base_units": "2996000000",
        "min_receive_base_units": "2981020000",
        "blockchain_fee_base_units": "333333333333334",
        "service_fee_base_units": "1000000000000000",
        "total_fee_base_units": "1333333333333334",
        "fee_discount_base_units": "0",
        "refuel_in_source_base_units": None,
        "refuel_base_units": None,
        "slippage_ppm": 5000,
        "source_usd_e18": "3000000000000000000000",
        "destination_usd_e18": "1000000000000000000",
        "source_native_usd_e18": "3000000000000000000000",
        "destination_native_usd_e18": "3000000000000000000000",
        "completion_milliseconds": 12500,
        "path": (PathStep(provider="SOLVER", order=1),),
    }
    return Quote(**{**values, **changes})


def an_input(**changes: Any) -> SwapTransaction:
    values: dict[str, Any] = {
        "type": "input",
        "status": "initiated",
        "transaction_hash": HASH,
        "from_address": ALICE,
        "to_address": TREASURY,
        "at": AT,
        "asset": ETHER,
        "base_units": "1000000000000000000",
        "usd_e18": "3000000000000000000000",
        "block_number": 7,
        "confirmations_required": 3,
        "fee_base_units": None,
    }
    return SwapTransaction(**{**values, **changes})


def a_swap_changed(**changes: Any) -> SwapChanged:
    values: dict[str, Any] = {
        "swap_id": SWAP_ID,
        "app_id": APP_ID,
        "sequence_number": 9007199254740991,
        "reference_id": "order-1",
        "method": "depository",
        "source": ETHER,
        "destination": DOLLAR,
        "source_address": None,
        "destination_address": ALICE,
        "refund_address": None,
        "created_at": AT,
        "expires_at": AT,
        "sequence": 2,
        "status": "user_transfer_pending",
        "previous_status": "user_transfer_pending",
        "changed_at": AT,
        "closed_at": None,
        "fail_reason": None,
        "quote": a_quote(),
        "quote_revision": 0,
        "quote_expires_at": AT,
        "last_requoted_at": None,
        "quote_locked_at": AT,
        "transactions": (an_input(),),
    }
    return SwapChanged(**{**values, **changes})
