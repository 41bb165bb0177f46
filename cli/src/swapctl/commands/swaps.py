"""Swaps as the settler has them, read from its database."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final
from uuid import UUID

import typer

from swapctl.admin_client import RequestFailed
from swapctl.auditor import open_auditor
from swapctl.context import get_endpoints
from swapctl.output import Json, show, show_all


class SwapStatus(StrEnum):
    """The statuses of the public API."""

    USER_TRANSFER_PENDING = "user_transfer_pending"
    LS_TRANSFER_PENDING = "ls_transfer_pending"
    COMPLETED = "completed"
    FAILED = "failed"
    EXPIRED = "expired"
    PENDING_REFUND = "pending_refund"
    REFUNDED = "refunded"


swap = typer.Typer(no_args_is_help=True, help="Swaps in the settler's database.")
COLUMNS: Final = ("id", "status", "source", "destination", "created_at")
PARTS: Final = {
    "transitions": ("sequence", "from_status", "to_status", "at", "cause"),
    "deposits": ("state", "method", "network", "base_units", "transaction_hash"),
    "payments": ("kind", "state", "network", "base_units", "transaction_hash"),
}
LIST: Final = """
SELECT id, status, method, source_network AS source, destination_network AS destination,
       reference_id, fail_reason, to_char(created_at, 'YYYY-MM-DD HH24:MI:SS') AS created_at
FROM settler.swap
WHERE (%s::text IS NULL OR status = %s)
ORDER BY settler.swap.created_at DESC LIMIT %s
"""
SWAP: Final = """
SELECT id, app_id, reference_id, status, fail_reason, method, source_network, source_token,
       destination_network, destination_token, requested_base_units::text,
       payout_base_units::text, fee_base_units::text, source_address, destination_address,
       refund_address, quote_revision, created_at, expires_at, changed_at, closed_at
FROM settler.swap WHERE id = %s
"""
QUERIES: Final = {
    # As JSON, the cause is null while the settler's table has no such column yet.
    "transitions": """
SELECT sequence, from_status, to_status, at, to_jsonb(transition) ->> 'cause' AS cause
FROM settler.swap_transition AS transition WHERE swap_id = %s ORDER BY sequence
""",
    "deposits": """
SELECT id, state, method, network, token, base_units::text, transaction_hash, quarantine_reason
FROM settler.deposit WHERE swap_id = %s ORDER BY block_number, id
""",
    "payments": """
SELECT id, kind, state, network, token, to_address, base_units::text, failures, transaction_hash
FROM settler.intent WHERE swap_id = %s ORDER BY created_at, id
""",
}


@swap.command("list")
def list_swaps(
    context: typer.Context,
    *,
    status: Annotated[SwapStatus | None, typer.Option(help="Only swaps in this status.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of swaps.")] = 20,
    as_json: Json = False,
) -> None:
    """List swaps, newest first."""
    with open_auditor(get_endpoints(context).auditor_url) as auditor:
        rows = auditor.rows(LIST, [status, status, limit])
    show_all(rows, as_json=as_json, columns=COLUMNS)


@swap.command("show")
def show_swap(context: typer.Context, swap_id: UUID, *, as_json: Json = False) -> None:
    """Show one swap: its state, transitions, deposits and payments."""
    with open_auditor(get_endpoints(context).auditor_url) as auditor:
        found = auditor.rows(SWAP, [swap_id])
        if not found:
            raise RequestFailed(f"the settler has no swap {swap_id}")
        parts = {name: auditor.rows(query, [swap_id]) for name, query in QUERIES.items()}
    if as_json:
        show({**found[0], **parts}, as_json=True)
        return
    show(found[0], as_json=False)
    for name, rows in parts.items():
        _show_part(name, rows)


def _show_part(name: str, rows: list[dict[str, Any]]) -> None:
    if rows:
        typer.echo(f"\n{name}")
        show_all(rows, as_json=False, columns=PARTS[name])
