"""The networks that are watched."""

from __future__ import annotations

import time
from typing import Annotated, Final

import typer

from swapctl.auditor import open_auditor
from swapctl.context import get_endpoints, internal
from swapctl.draining import count_open_swaps, list_remains, wait_for_end
from swapctl.endpoints import ServiceName
from swapctl.operator_option import IgnoredBy, reason_option
from swapctl.output import Json, show, show_all

COLUMNS = ("network", "head", "cursor", "finalized", "lag_blocks", "halted")
CLOSURES: Final = ("network", "at", "by", "reason")
REMAINS: Final = ("what", "amount", "to_do")
Reason = Annotated[str, reason_option("Why")]
network = typer.Typer(no_args_is_help=True, help="The networks that are watched.")


@network.command("list")
def list_networks(context: typer.Context, *, as_json: Json = False) -> None:
    """List each network with its latest read block."""
    networks = internal(context, ServiceName.WATCHER).get("/networks")["networks"]
    show_all(networks, as_json=as_json, columns=COLUMNS)


@network.command("resume")
def resume_network(
    context: typer.Context,
    name: str,
    *,
    take_back: Annotated[
        list[str] | None,
        typer.Option(help="A transaction with invented logs that were published; repeatable."),
    ] = None,
    reason: Annotated[
        str | None, typer.Option(help="Kept in the log. Needed with --take-back.")
    ] = None,
    _by: IgnoredBy = None,
    as_json: Json = False,
) -> None:
    """Resume reading of a halted network, and its payments, once its nodes agree again.

    With --take-back every provider is queried for the transaction first. Logs are reverted if all
    providers, at least two, deny them. Nothing changes if one provider still reports them.

    The answer comes within 20 seconds. If the order has not finished by then, the answer lists
    the finished and the open parts; a repeated order continues from there.
    """
    body: dict[str, object] = {}
    if reason is None and take_back:
        reason = typer.prompt("Which evidence shows that the logs were invented")
    if reason is not None:
        body["reason"] = reason
    if take_back:
        body["take_back"] = take_back
    port = internal(context, ServiceName.WATCHER)
    show(port.post(f"/networks/{name}/resume", body), as_json=as_json)


@network.command("closed")
def list_closures(context: typer.Context, *, as_json: Json = False) -> None:
    """List the networks that are closed to new swaps, since when and why."""
    result = internal(context, ServiceName.SETTLER).get("/closures")["closures"]
    show_all(result, as_json=as_json, columns=CLOSURES)


@network.command("close")
def close_network(
    context: typer.Context, name: str, *, reason: Reason, as_json: Json = False
) -> None:
    """Accept no new swaps from or to a network. Open swaps are still paid.

    To stop payments instead: swapctl payouts stop NETWORK.
    """
    body = {"network": name, "reason": reason}
    result = internal(context, ServiceName.SETTLER).post("/closures/close", body)["closures"]
    show_all(result, as_json=as_json, columns=CLOSURES)


@network.command("open")
def open_network(
    context: typer.Context, name: str, *, reason: Reason, as_json: Json = False
) -> None:
    """Accept new swaps again."""
    body = {"network": name, "reason": reason}
    result = internal(context, ServiceName.SETTLER).post("/closures/open", body)["closures"]
    show_all(result, as_json=as_json, columns=CLOSURES)


@network.command("drain")
def drain_network(
    context: typer.Context,
    name: str,
    *,
    reason: Reason,
    wait: Annotated[int, typer.Option(help="Seconds to wait for open swaps to end.")] = 3600,
    as_json: Json = False,
) -> None:
    """Close a network, wait until its swaps have ended, and list the remaining balances.

    Swaps that the api accepted and the settler has not read count as open. The wait ends when no
    swap was open for five seconds: the api may accept swaps for a moment after the closure.

    The exit code is 1 if swaps are still open at the end; the network stays closed.
    """
    internal(context, ServiceName.SETTLER).post(
        "/closures/close", {"network": name, "reason": reason}
    )
    with open_auditor(get_endpoints(context).auditor_url) as auditor:
        count = wait_for_end(
            lambda: count_open_swaps(auditor, name),
            wait=wait,
            monotonic=time.monotonic,
            sleep=time.sleep,
        )
        show_all(list_remains(auditor, name), as_json=as_json, columns=REMAINS)
    if count:
        typer.echo(f"swapctl: {count} swaps are still open; {name} stays closed", err=True)
        raise typer.Exit(1)
