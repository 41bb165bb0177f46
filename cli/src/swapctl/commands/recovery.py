"""What is held after a restore."""

from __future__ import annotations

from typing import Annotated

import typer

from swapctl.context import internal
from swapctl.output import Json, show, show_all
from swapctl.places import ServiceName
from swapctl.saying import By

recovery = typer.Typer(
    no_args_is_help=True, help="See what is held after the database was restored, and end it."
)
FORGOTTEN = ("swap_id", "kind", "network", "transaction_hash")
COLUMNS = ("id", "cause", "began_at", "held", "reason", "means")


@recovery.command("status")
def show_status(context: typer.Context, *, as_json: Json = False) -> None:
    """Show the open recovery, and the payments of known swaps that the ledger has forgotten."""
    told = internal(context, ServiceName.SETTLER).get("/recovery")
    if as_json:
        show(told, as_json=True)
        return
    show_all(told["recoveries"], as_json=False, columns=COLUMNS)
    if told["forgotten"]:
        show_all(told["forgotten"], as_json=False, columns=FORGOTTEN)


@recovery.command("finish")
def finish(
    context: typer.Context,
    id: Annotated[int, typer.Argument(help="As the status shows it.")],
    *,
    reason: Annotated[
        str, typer.Option(prompt="Why can nothing be paid twice", help="Kept for ever.")
    ],
    by: By,
) -> None:
    """End a recovery: what it holds is paid."""
    body = {"by": by, "reason": reason}
    internal(context, ServiceName.SETTLER).post(f"/recovery/{id}/finish", body)
    typer.echo(f"recovery {id} ended")
