"""The networks that are watched."""

from __future__ import annotations

import typer

from swapctl.auditor import auditing
from swapctl.context import places
from swapctl.output import Json, show_all

network = typer.Typer(no_args_is_help=True, help="The networks that are watched.")


@network.command("list")
def list_networks(context: typer.Context, *, as_json: Json = False) -> None:
    """List each network with how far its blocks were read."""
    with auditing(places(context).auditor_url) as auditor:
        rows = auditor.rows("SELECT * FROM chain_watcher.progress ORDER BY network")
    show_all(rows, as_json=as_json)
