"""Which service sends which topic."""

from types import MappingProxyType
from typing import Final

# The schema with the outbox of a topic: the sweep reads it when Kafka is unavailable.
OUTBOX_SCHEMAS: Final = MappingProxyType({
    "swap.requests.v1": "api",
    "deposit.hinted.v1": "api",
    "deposit.changed.v1": "chain_watcher",
    "payout.changed.v1": "chain_watcher",
    "swap.changed.v1": "settler",
    "deposit-target.assigned.v1": "settler",
    "inventory.changed.v1": "settler",
})  # fmt: skip
