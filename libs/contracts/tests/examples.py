"""One message of every kind, with values that are easy to recognise."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from swap_contracts.quoting import AssetRef, Quote
from swap_contracts.swaps import SwapChanged, SwapTransaction
from tests.support import swaps

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
    return swaps.a_quote(ETHER, DOLLAR, **changes)


def an_input(**changes: Any) -> SwapTransaction:
    parties = {"from_address": ALICE, "to_address": TREASURY}
    return swaps.a_transaction(ETHER, AT, **{**parties, **changes})


def a_swap_changed(**changes: Any) -> SwapChanged:
    values: dict[str, Any] = {
        "swap_id": SWAP_ID,
        "app_id": APP_ID,
        "sequence_number": 9007199254740991,
        "sequence": 2,
        "quote_locked_at": AT,
        "transactions": (an_input(),),
    }
    return swaps.a_swap(ETHER, DOLLAR, AT, **{**values, **changes})
