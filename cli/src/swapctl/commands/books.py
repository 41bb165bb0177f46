"""Balances and liabilities of the Treasuries, and losses from reorgs."""

from __future__ import annotations

import typer

from swapctl.context import internal
from swapctl.endpoints import ServiceName
from swapctl.output import Json, show, show_all

BALANCES = ("network", "token", "held_base_units", "owed_base_units", "treasury_base_units")
BACKLOGS = ("what", "network", "count", "oldest_seconds")
LOSSES = ("network", "usd_micros", "budget_usd_micros", "is_stopped")
ENTRIES = ("at", "kind", "network", "token", "base_units", "swap_id")


def list_balances(context: typer.Context, *, as_json: Json = False) -> None:
    """List each token: ledger balance, liabilities, Treasury balance, and the oldest payments."""
    result = internal(context, ServiceName.SETTLER).get("/balances")
    if as_json:
        show(result, as_json=True)
        return
    show_all(result["balances"], as_json=False, columns=BALANCES)
    if result["backlogs"]:
        typer.echo("\nwaiting")
        show_all(result["backlogs"], as_json=False, columns=BACKLOGS)


def list_losses(context: typer.Context, *, as_json: Json = False) -> None:
    """List each network's losses from reorgs within the span, and all postings of losses."""
    result = internal(context, ServiceName.SETTLER).get_whole("/losses", "entries")
    if as_json:
        show(result, as_json=True)
        return
    show_all(result["networks"], as_json=False, columns=LOSSES)
    if result["entries"]:
        typer.echo("\nentries")
        show_all(result["entries"], as_json=False, columns=ENTRIES)
