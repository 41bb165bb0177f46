"""What is held after a restore."""

from __future__ import annotations

from typing import Annotated

import typer

from swapctl.context import internal
from swapctl.endpoints import ServiceName
from swapctl.operator_option import By
from swapctl.output import Json, show, show_all

recovery = typer.Typer(
    no_args_is_help=True, help="See what is held after the database was restored, and end it."
)
COLUMNS = ("id", "state", "cause", "began_at", "held", "reason", "ended_by", "means")
# What the status shows, each as a table of its own, once there is any of it.
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
    """Show what a recovery has proven, what was forgotten, and what is held after it."""
    result = internal(context, ServiceName.SETTLER).get("/recovery")
    if as_json:
        show(result, as_json=True)
        return
    show_all(result["recoveries"], as_json=False, columns=COLUMNS)
    for name, columns in PARTS.items():
        if rows := result.get(name):  # a settler of an older release has fewer
            typer.echo(f"\n{name}")
            show_all(rows, as_json=False, columns=columns)


@recovery.command("finish")
def finish(
    context: typer.Context,
    id: Annotated[int, typer.Argument(help="As the status shows it.")],
    *,
    reason: Annotated[
        str, typer.Option(prompt="Why can nothing be paid twice", help="Stored for ever.")
    ],
    _by: By = None,
) -> None:
    """End a recovery before it is proven: what it holds is paid, but what is known to be made."""
    body = {"reason": reason}
    internal(context, ServiceName.SETTLER).post(f"/recovery/{id}/finish", body)
    typer.echo(f"recovery {id} ended")


@recovery.command("release")
def release(
    context: typer.Context,
    id: Annotated[int, typer.Argument(help="Of the retained hold, as the status shows it.")],
    *,
    reason: Annotated[
        str, typer.Option(prompt="Why was nothing paid for it", help="Stored for ever.")
    ],
    _by: By = None,
) -> None:
    """Hold a deposit no longer for which a forgotten swap may have been paid."""
    body = {"reason": reason}
    internal(context, ServiceName.SETTLER).post(f"/recovery/retained/{id}/release", body)
    typer.echo(f"{id} is held no longer")
