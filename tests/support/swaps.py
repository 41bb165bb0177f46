"""Message bodies of swaps, for tests of several services."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final
from uuid import uuid4

from swap_contracts.quoting import AssetRef, PathStep, Quote
from swap_contracts.swaps import SwapChanged, SwapTransaction

E18: Final = 10**18


def a_quote(source: AssetRef, destination: AssetRef, /, **changes: Any) -> Quote:
    """Return a quote of one coin of 3,000 dollars for tokens of one dollar."""
    values: dict[str, Any] = {
        "source": source,
        "destination": destination,
        "requested_base_units": str(E18),
        "receive_base_units": "2996000000",
        "min_receive_base_units": "2981020000",
        "blockchain_fee_base_units": "333333333333334",
        "service_fee_base_units": "1000000000000000",
        "total_fee_base_units": "1333333333333334",
        "fee_discount_base_units": "0",
        "refuel_in_source_base_units": None,
        "refuel_base_units": None,
        "slippage_ppm": 5000,
        "source_usd_e18": str(3000 * E18),
        "destination_usd_e18": str(E18),
        "source_native_usd_e18": str(3000 * E18),
        "destination_native_usd_e18": str(3000 * E18),
        "completion_milliseconds": 12500,
        "path": (PathStep(provider="SOLVER", order=1),),
    }
    return Quote(**{**values, **changes})


def a_transaction(asset: AssetRef, at: datetime, /, **changes: Any) -> SwapTransaction:
    """Return a deposit that was reported."""
    values: dict[str, Any] = {
        "type": "input",
        "status": "initiated",
        "transaction_hash": "0x" + "ab" * 32,
        "from_address": None,
        "to_address": None,
        "at": at,
        "asset": asset,
        "base_units": str(E18),
        "usd_e18": str(3000 * E18),
        "block_number": 7,
        "confirmations_required": 3,
        "fee_base_units": None,
    }
    return SwapTransaction(**{**values, **changes})


def a_swap(source: AssetRef, destination: AssetRef, at: datetime, /, **changes: Any) -> SwapChanged:
    """Return a swap without a deposit; each has a new id and number."""
    values: dict[str, Any] = {
        "swap_id": uuid4(),
        "app_id": uuid4(),
        "sequence_number": uuid4().int % 2**53 or 1,
        "reference_id": "order-1",
        "method": "depository",
        "source": source,
        "destination": destination,
        "source_address": None,
        "destination_address": "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
        "refund_address": None,
        "created_at": at,
        "expires_at": at,
        "sequence": 1,
        "status": "user_transfer_pending",
        "previous_status": "user_transfer_pending",
        "changed_at": at,
        "closed_at": None,
        "fail_reason": None,
        "quote": a_quote(source, destination),
        "quote_revision": 0,
        "quote_expires_at": at,
        "last_requoted_at": None,
        "quote_locked_at": None,
        "transactions": (),
    }
    return SwapChanged(**{**values, **changes})
