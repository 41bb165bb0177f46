"""Swaps, endpoints and claims for the notifier's tests."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from swap_contracts.envelope import Envelope
from swap_contracts.quoting import AssetRef
from swap_contracts.swaps import SwapChanged
from swap_contracts.topics import SWAP_CHANGED
from swap_domain.catalogue import NATIVE
from swap_notifier.domain.endpoints import to_secret
from swap_notifier.domain.outcomes import Answer, ClaimedMessage
from swap_runtime.sealing import Sealing
from tests.support import networks, swaps

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECRET, OLD_SECRET = to_secret(b"n" * 32), to_secret(b"o" * 32)
SEALING_KEY = b64encode(b"k" * 32).decode()
SEALING = Sealing.with_keys([SEALING_KEY])
ETH = AssetRef(network="ETHEREUM_DEVNET", token=NATIVE, decimals=18)
POL = AssetRef(network="POLYGON_DEVNET", token=NATIVE, decimals=18)

# URLs of internal addresses, each in another form.
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


def a_swap(**members: Any) -> SwapChanged:
    values = {"sequence_number": 7, "destination_address": "0x" + "1" * 40, "previous_status": None}
    return swaps.a_swap(ETH, POL, NOW, **{**values, **members})


def seal_swap(swap: SwapChanged) -> Envelope[SwapChanged]:
    return SWAP_CHANGED.seal(swap, version=swap.sequence, occurred_at=NOW, trace_id="t")


def a_claim(**members: Any) -> ClaimedMessage:
    return ClaimedMessage(
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
    contracts = {"treasury": "0x" + "e" * 40, "depository": None}
    return networks.a_network(
        name, chain_id, {**networks.ETH, "symbol": native}, contracts=contracts
    )
