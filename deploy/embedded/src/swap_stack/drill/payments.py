"""What the Treasuries have paid for a swap, by their logs alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from swap_chains.evm.codec import PAID, intent_id, topic_uint
from swap_stack.node import Node

KINDS: Final = ("output", "refund")  # one of them, once
REFUEL: Final = "refuel"


async def read_payments(stack: Mapping[str, Any]) -> Counter[int]:
    """Return how often each id was paid, over all networks."""
    paid: Counter[int] = Counter()
    for network in stack["networks"]:
        log_filter = {
            "fromBlock": "0x0",
            "toBlock": "latest",
            "address": network["contracts"]["treasury"],
            "topics": [PAID],
        }
        logs = await Node(network["rpc_urls"][0]).call("eth_getLogs", log_filter)
        paid.update(topic_uint(log["topics"][1]) for log in logs)
    return paid


def count_of(paid: Counter[int], swap_id: str) -> int:
    """Return how often the main leg of a swap was paid: out or back."""
    return sum(paid[intent_id(UUID(swap_id), kind, "main")] for kind in KINDS)


def refuels_of(paid: Counter[int], swap_id: str) -> int:
    """Return how often its refuel was paid."""
    return paid[intent_id(UUID(swap_id), REFUEL, "main")]
