"""Blocked addresses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swapctl.context import internal
from swapctl.endpoints import ServiceName
from swapctl.operator_option import IgnoredBy, reason_option
from swapctl.output import Json, show, show_all

policy = typer.Typer(no_args_is_help=True, help="Block and unblock addresses.")
COLUMNS = ("address", "network", "at", "by", "reason")
Addresses = Annotated[list[str] | None, typer.Argument(help="One or more addresses.")]
Network = Annotated[
    str | None, typer.Option(help="Only on this network; by default on every network.")
]
Reason = Annotated[str, reason_option("Why")]


@policy.command("list")
def list_blocked(context: typer.Context, *, as_json: Json = False) -> None:
    """List blocked addresses with their reason."""
    result = internal(context, ServiceName.SETTLER).get_all("/blocked", "blocked")
    show_all(result, as_json=as_json, columns=COLUMNS)


@policy.command("block")
def block(
    context: typer.Context,
    addresses: Addresses = None,
    *,
    file: Annotated[Path | None, typer.Option(help="A file with one address per line.")] = None,
    network: Network = None,
    reason: Reason,
    _by: IgnoredBy = None,
    as_json: Json = False,
) -> None:
    """Block addresses. Swaps to them are refused and not paid; their money becomes claimable."""
    lines = [] if file is None else file.read_text().split()
    body = {
        "addresses": [*(addresses or ()), *lines],
        "network": network,
        "reason": reason,
    }
    show(internal(context, ServiceName.SETTLER).post("/blocked", body), as_json=as_json)


@policy.command("lift")
def lift(
    context: typer.Context,
    addresses: Addresses = None,
    *,
    network: Network = None,
    reason: Reason,
    _by: IgnoredBy = None,
    as_json: Json = False,
) -> None:
    """Unblock addresses that an operator blocked."""
    body = {"addresses": list(addresses or ()), "network": network, "reason": reason}
    show(internal(context, ServiceName.SETTLER).post("/blocked/lift", body), as_json=as_json)
