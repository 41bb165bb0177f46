"""Money that waits for its owner: what could not be sent, and what came without a match."""

from __future__ import annotations

import typer

from swapctl.context import internal
from swapctl.output import Json, show_all
from swapctl.places import ServiceName

COLUMNS = ("kind", "network", "token", "base_units", "swap_id", "deposit_id")


def list_claimable(context: typer.Context, *, as_json: Json = False) -> None:
    """List what is owed and to be paid by hand; `suspense` is what no swap asked for."""
    told = internal(context, ServiceName.SETTLER).get("/claimable")["claimable"]
    show_all(told, as_json=as_json, columns=COLUMNS)
