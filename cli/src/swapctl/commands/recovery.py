"""Holds after a restore of the database."""

from __future__ import annotations

from typing import Annotated

import typer

from swapctl.context import internal
from swapctl.endpoints import ServiceName
from swapctl.operator_option import IgnoredBy, reason_option
from swapctl.output import Json, show, show_all

recovery = typer.Typer(
    no_args_is_help=True, help="Show and end the holds after a restore of the database."
)
COLUMNS = ("id", "state", "cause", "began_at", "held", "reason", "ended_by", "means")
HELD = ("since", "kind", "network", "token", "base_units", "swap_id", "deposit_id", "app_id")
# Parts of the status; each non-empty one is a separate table.
PARTS = {
    "networks": ("network", "head", "read", "is_read", "waits_for"),
    "signers": ("network", "address", "end_nonce", "open_nonces", "is_closed", "waits_for"),
    "addresses": ("network", "uncounted", "waits_for"),
    "forgotten": ("swap_id", "kind", "network", "transaction_hash"),
    "uncompared": ("network", "since", "waits_for"),
    "retained": ("id", "swap_id", "deposit_id", "intent_id", "kind", "network", "since", "ends_by"),
}


@recovery.command("status")
def show_status(context: typer.Context, *, as_json: Json = False) -> None:
    """Show the proofs of a recovery, the lost payments, and the remaining holds."""
    result = internal(context, ServiceName.SETTLER).get("/recovery")
    if as_json:
        show(result, as_json=True)
        return
    show_all(result["recoveries"], as_json=False, columns=COLUMNS)
    for name, columns in PARTS.items():
        if rows := result.get(name):  # a settler of an older release has fewer
            typer.echo(f"\n{name}")
            show_all(rows, as_json=False, columns=columns)


@recovery.command("held")
def list_held(context: typer.Context, *, as_json: Json = False) -> None:
    """List the payments and refunds that are held, the oldest first."""
    result = internal(context, ServiceName.SETTLER).get_all("/recovery/held", "held")
    show_all(result, as_json=as_json, columns=HELD)


@recovery.command("finish")
def finish(
    context: typer.Context,
    id: Annotated[int, typer.Argument(help="The id in the status.")],
    *,
    reason: Annotated[str, reason_option("Why is a double payment impossible")],
    _by: IgnoredBy = None,
) -> None:
    """End a recovery before it is proven: held payments are sent, except those known as made."""
    body = {"reason": reason}
    internal(context, ServiceName.SETTLER).post(f"/recovery/{id}/finish", body)
    typer.echo(f"recovery {id} ended")


@recovery.command("release")
def release(
    context: typer.Context,
    id: Annotated[int, typer.Argument(help="The id of the retained hold in the status.")],
    *,
    reason: Annotated[str, reason_option("Why was nothing paid for it")],
    _by: IgnoredBy = None,
) -> None:
    """Release a deposit that was held because a lost swap may have been paid for it."""
    body = {"reason": reason}
    internal(context, ServiceName.SETTLER).post(f"/recovery/retained/{id}/release", body)
    typer.echo(f"hold {id} released")
