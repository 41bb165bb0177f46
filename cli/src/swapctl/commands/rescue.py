"""Tokens that came to an address of ours and that no swap has."""

from __future__ import annotations

from typing import Annotated

import typer

from swapctl.context import internal
from swapctl.output import Json, show_all
from swapctl.places import ServiceName
from swapctl.saying import By

COLUMNS = ("token", "symbol", "base_units", "from", "to", "recorded", "held_there", "act")


def rescue(
    context: typer.Context,
    network: str,
    transaction_hash: str,
    *,
    to: Annotated[str | None, typer.Option(help="Who gets back what no catalogue knows.")] = None,
    reason: Annotated[
        str | None, typer.Option(help="How it is known whose it is; kept for ever.")
    ] = None,
    by: By,
    as_json: Json = False,
) -> None:
    """Show each token that a transaction brought us, and how its owner gets it back.

    With --to and --reason, of tokens that no catalogue knows: keep who gets them, and tell the
    calls by which the owner of the Treasury returns them (--json shows their data).
    """
    port, path = internal(context, ServiceName.SETTLER), f"/rescues/{network}/{transaction_hash}"
    if (to is None) != (reason is None):
        raise typer.BadParameter("--to and --reason are said together")
    if to is None:
        told = port.get(path)["came"]
    else:
        told = port.post(path, {"to_address": to, "by": by, "reason": reason})["came"]
    show_all(told, as_json=as_json, columns=COLUMNS)
