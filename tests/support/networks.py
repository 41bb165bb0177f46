"""A network of a catalogue, for tests of several services."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

LISTED: Final = "2026-01-01T00:00:00Z"
ETH: Final[Mapping[str, Any]] = {"symbol": "ETH", "contract": None, "decimals": 18}


def a_network(
    name: str, chain_id: int, *tokens: Mapping[str, Any], **changes: Any
) -> dict[str, Any]:
    """
    :param tokens: without the day of their listing.
    :param changes: members of the network that differ.
    """
    return {
        "name": name,
        "display_name": name,
        "chain_id": chain_id,
        "listing_date": LISTED,
        "public_nodes": ["http://127.0.0.1:1"],
        "start_block": 0,
        "block_time_milliseconds": 1000,
        "finality_blocks": 2,
        "signers": [],
        "gas": {
            "pay_native": 75_000,
            "pay_erc20": 95_000,
            "sweep_native": 90_000,
            "sweep_erc20": 95_000,
        },
        "max_fee_per_gas": 500 * 10**9,
        "tokens": [{"listing_date": LISTED, **token} for token in tokens],
        **changes,
    }


def a_route(**changes: Any) -> dict[str, Any]:
    """Return one rule for every route."""
    return {
        "source": "*",
        "destination": "*",
        "service_fee_basis_points": 10,
        "slippage_ppm": 5000,
        "min_usd": "1",
        "max_usd": "50000",
        "estimated_seconds": 10,
        **changes,
    }
