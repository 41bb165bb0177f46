"""The networks that are watched."""

from __future__ import annotations

import typer

from swapctl.context import internal
from swapctl.endpoints import ServiceName
from swapctl.output import Json, show, show_all

COLUMNS = ("network", "head", "cursor", "finalized", "lag_blocks", "halted")
network = typer.Typer(no_args_is_help=True, help="The networks that are watched.")


@network.command("list")
def list_networks(context: typer.Context, *, as_json: Json = False) -> None:
    """List each network with how far its blocks were read."""
    networks = internal(context, ServiceName.WATCHER).get("/networks")["networks"]
    show_all(networks, as_json=as_json, columns=COLUMNS)


@network.command("resume")
def resume_network(context: typer.Context, name: str, *, as_json: Json = False) -> None:
    """Go on reading a network that was halted, and paying for it, once its nodes agree again."""
    show(internal(context, ServiceName.WATCHER).post(f"/networks/{name}/resume"), as_json=as_json)
