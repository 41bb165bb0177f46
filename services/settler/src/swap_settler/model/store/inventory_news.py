"""Messages `inventory.changed.v1`: at most one per asset and batch."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from swap_contracts.swaps import InventoryChanged
from swap_contracts.topics import INVENTORY_CHANGED
from swap_contracts.tracing import trace_id_of
from swap_runtime.messaging.outbox import Outgoing
from swap_settler.model.changes import Changes
from swap_settler.model.ledger.inventory import Inventory


def inventory_news(moved: Sequence[Inventory], cause: Changes) -> Sequence[Outgoing]:
    """Return a message per row that moved, under the trace of what moved it last."""
    trace_id = trace_id_of(cause.swap.id) if cause.swap else cause.trace_id or ""
    return [_message(inventory, trace_id) for inventory in moved]


def _message(inventory: Inventory, trace_id: str) -> Outgoing:
    body = InventoryChanged(
        network=inventory.network,
        token=inventory.token,
        version=inventory.version,
        available_base_units=str(max(inventory.available_base_units, 0)),
    )
    envelope = INVENTORY_CHANGED.seal(
        body, version=inventory.version, occurred_at=datetime.now(UTC), trace_id=trace_id
    )
    return Outgoing.of(INVENTORY_CHANGED, envelope)
