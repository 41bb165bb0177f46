"""Swaps, endpoints and claims for the notifier's tests."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from swap_contracts.envelope import Envelope
from swap_contracts.quoting import AssetRef, Quote
from swap_contracts.swaps import SwapChanged
from swap_contracts.topics import SWAP_CHANGED
from swap_domain.catalogue import NATIVE
from swap_notifier.domain.endpoints import to_secret
from swap_notifier.domain.outcomes import Answer, Claimed
from swap_runtime.sealing import Sealing

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECRET, OLD_SECRET = to_secret(b"n" * 32), to_secret(b"o" * 32)
SEALING_KEY = b64encode(b"k" * 32).decode()
SEALING = Sealing.with_keys([SEALING_KEY])
ETH = AssetRef(network="ETHEREUM_DEVNET", token=NATIVE, decimals=18)
POL = AssetRef(network="POLYGON_DEVNET", token=NATIVE, decimals=18)

# Addresses that lead inside, each in a way of its own.
INSIDE = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "100.64.0.1",
    "100.100.100.200",
    "100.127.255.255",
    "169.254.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "168.63.129.16",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:8.8.8.8",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::808:808",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::1",
    "2002:a00:1::",
    "3fff::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
]


def a_catalogue_document() -> dict[str, Any]:
    return {
        "environment": "test",
        "networks": [_network(ETH.network, 1, "ETH"), _network(POL.network, 2, "POL")],
        "routes": [],
    }


def a_quote() -> Quote:
    return Quote(
        source=ETH,
        destination=POL,
        requested_base_units=str(10**18),
        receive_base_units=str(9 * 10**17),
        min_receive_base_units=str(8 * 10**17),
        blockchain_fee_base_units="5",
        service_fee_base_units="5",
        total_fee_base_units="10",
        fee_discount_base_units="0",
        refuel_in_source_base_units=None,
        refuel_base_units=None,
        slippage_ppm=5000,
        source_usd_e18=str(10**18),
        destination_usd_e18=str(10**18),
        source_native_usd_e18=str(10**18),
        destination_native_usd_e18=str(10**18),
        completion_milliseconds=1000,
        path=(),
    )


def a_swap(**members: Any) -> SwapChanged:
    return SwapChanged(
        **{
            "swap_id": uuid4(),
            "app_id": uuid4(),
            "sequence_number": 7,
            "reference_id": "order-1",
            "method": "depository",
            "source": ETH,
            "destination": POL,
            "source_address": None,
            "destination_address": "0x" + "1" * 40,
            "refund_address": None,
            "created_at": NOW,
            "expires_at": NOW,
            "sequence": 1,
            "status": "user_transfer_pending",
            "previous_status": None,
            "changed_at": NOW,
            "closed_at": None,
            "fail_reason": None,
            "quote": a_quote(),
            "quote_revision": 0,
            "quote_expires_at": NOW,
            "last_requoted_at": None,
            "quote_locked_at": None,
            "transactions": (),
            **members,
        }
    )


def sealed(swap: SwapChanged) -> Envelope[SwapChanged]:
    return SWAP_CHANGED.seal(swap, version=swap.sequence, occurred_at=NOW, trace_id="t")


def a_claim(**members: Any) -> Claimed:
    return Claimed(
        **{
            "message_id": "msg_" + b64encode(b"m").decode().strip("="),
            "swap_id": uuid4(),
            "claim": uuid4(),
            "endpoint_id": uuid4(),
            "event_type": "swap.completed",
            "body": '{"swap":"ü"}'.encode(),
            "attempts": 0,
            "url": "http://127.0.0.1:1/",
            "secrets": (SECRET,),
            "failing_since": None,
            **members,
        }
    )


def an_answer(status: int | None = 200, **members: Any) -> Answer:
    return Answer(
        **{"http_status": status, "error": None, "retry_after": None, "milliseconds": 5, **members}
    )


def _network(name: str, chain_id: int, native: str) -> Mapping[str, Any]:
    listed = "2026-01-01T00:00:00Z"
    return {
        "name": name,
        "display_name": name,
        "chain_id": chain_id,
        "listing_date": listed,
        "public_nodes": ["http://127.0.0.1:1"],
        "start_block": 0,
        "block_time_milliseconds": 1000,
        "finality_blocks": 2,
        "contracts": {"treasury": "0x" + "e" * 40, "depository": None},
        "signers": [],
        "gas": {"pay_native": 1, "pay_erc20": 1},
        "max_fee_per_gas": 1,
        "tokens": [{"symbol": native, "contract": None, "decimals": 18, "listing_date": listed}],
    }
