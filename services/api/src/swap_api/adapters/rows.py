"""Rows of the read model and back."""

from __future__ import annotations

import orjson

from swap_api.ports import Gap, Rendered, StoredSwap, SwapRow
from swap_runtime.sql import Row


def swap_row(row: SwapRow) -> dict[str, object]:
    swap, rendered = row.swap, row.rendered
    return {
        "id": swap.swap_id,
        "app_id": swap.app_id,
        "sequence_number": swap.sequence_number,
        "sequence": swap.sequence,
        "status": swap.status,
        "client": row.client,
        "is_unpaid": row.is_unpaid,
        "source_network": swap.source.network,
        "destination_network": swap.destination.network,
        "source_address": _lower(swap.source_address),
        "destination_address": swap.destination_address.lower(),
        "refund_address": _lower(swap.refund_address),
        "reference_id": swap.reference_id,
        "created_at": swap.created_at,
        "expires_at": swap.expires_at,
        "document": rendered.document,
        "gaps": _gaps_text(rendered.gaps),
        "action": rendered.action,
        "step_status": rendered.step_status,
    }


def hash_rows(row: SwapRow) -> list[dict[str, object]]:
    """Return one row per transaction that has a hash."""
    swap = row.swap
    return [
        {"app_id": swap.app_id, "hash": item.transaction_hash.lower(), "swap_id": swap.swap_id}
        for item in swap.transactions
        if item.transaction_hash is not None
    ]


def to_stored(row: Row) -> StoredSwap:
    gaps = tuple(Gap(*gap) for gap in orjson.loads(row.gaps)) if row.gaps else ()
    rendered = Rendered(row.document, gaps, row.action, row.step_status)
    return StoredSwap(row.app_id, row.expires_at, rendered)


def _gaps_text(gaps: tuple[Gap, ...]) -> str | None:
    if not gaps:
        return None
    return orjson.dumps(
        [(gap.network, gap.block_number, gap.confirmations_required) for gap in gaps]
    ).decode()


def _lower(address: str | None) -> str | None:
    return None if address is None else address.lower()
