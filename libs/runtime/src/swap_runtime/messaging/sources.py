"""Which service's schema holds the outbox of each topic."""

from types import MappingProxyType
from typing import Final

# Consumers check messages against this outbox, and read it when Kafka does not deliver
# (verification.py, sweep.py).
OUTBOX_SCHEMAS: Final = MappingProxyType({
    "swap.requests.v1": "api",
    "deposit.hinted.v1": "api",
    "deposit.changed.v1": "chain_watcher",
    "payout.changed.v1": "chain_watcher",
    "swap.changed.v1": "settler",
    "deposit-target.assigned.v1": "settler",
    "inventory.changed.v1": "settler",
})  # fmt: skip
