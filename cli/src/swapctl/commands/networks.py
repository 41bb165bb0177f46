"""The networks that are watched."""

from __future__ import annotations

from typing import Annotated

import typer

from swapctl.context import internal
from swapctl.endpoints import ServiceName
from swapctl.operator_option import By
from swapctl.output import Json, show, show_all

COLUMNS = ("network", "head", "cursor", "finalized", "lag_blocks", "halted")
network = typer.Typer(no_args_is_help=True, help="The networks that are watched.")


@network.command("list")
def list_networks(context: typer.Context, *, as_json: Json = False) -> None:
    """List each network with how far its blocks were read."""
    networks = internal(context, ServiceName.WATCHER).get("/networks")["networks"]
    show_all(networks, as_json=as_json, columns=COLUMNS)


@network.command("resume")
def resume_network(
    context: typer.Context,
    name: str,
    *,
    take_back: Annotated[
        list[str] | None,
        typer.Option(help="A transaction whose published logs were made up; once for each."),
    ] = None,
    reason: Annotated[
        str | None, typer.Option(help="Kept in the log. Needed with --take-back.")
    ] = None,
    _by: By = None,
    as_json: Json = False,
) -> None:
    """Go on reading a network that was halted, and paying for it, once its nodes agree again.

    With --take-back every provider is asked about the transaction first. What all of them deny,
    two at least, is reverted; when one still reports it, nothing changes.

    The answer comes within 20 seconds. Where the order did not end by then, it says what is done
    and what is not; a repeated order goes on from there.
    """
    body: dict[str, object] = {}
    if reason is None and take_back:
        reason = typer.prompt("How is it known that it was made up")
    if reason is not None:
        body["reason"] = reason
    if take_back:
        body["take_back"] = take_back
    port = internal(context, ServiceName.WATCHER)
    show(port.post(f"/networks/{name}/resume", body), as_json=as_json)
