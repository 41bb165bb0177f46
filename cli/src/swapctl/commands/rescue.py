"""Tokens at the service's addresses that belong to no swap."""

from __future__ import annotations

from typing import Annotated

import typer

from swapctl.context import internal
from swapctl.endpoints import ServiceName
from swapctl.operator_option import IgnoredBy
from swapctl.output import Json, show_all

COLUMNS = ("token", "symbol", "base_units", "from", "to", "recorded", "held_there", "act")


def rescue(
    context: typer.Context,
    network: str,
    transaction_hash: str,
    *,
    to: Annotated[
        str | None, typer.Option(help="Recipient of a token outside the catalogue.")
    ] = None,
    reason: Annotated[
        str | None, typer.Option(help="The evidence of its owner; stored permanently.")
    ] = None,
    token: Annotated[str | None, typer.Option(help="The token, if there are several.")] = None,
    sender: Annotated[
        str | None, typer.Option("--from", help="The sender, if there are several transfers.")
    ] = None,
    _by: IgnoredBy = None,
    as_json: Json = False,
) -> None:
    """Show each token that a transaction sent to the service, and how to return it.

    With --to and --reason: order the return of a token outside the catalogue. After the approval
    of a second operator the command shows the calls for the owner of the Treasury (--json shows
    their data). --token and --from select one of several transfers of the transaction.
    """
    port, path = internal(context, ServiceName.SETTLER), f"/rescues/{network}/{transaction_hash}"
    if (to is None) != (reason is None):
        raise typer.BadParameter("--to and --reason are required together")
    if to is None:
        result = port.get(path)["came"]
    else:
        which = {"token": token, "from_address": sender}
        body = {"to_address": to, "reason": reason}
        body |= {name: value for name, value in which.items() if value}
        result = port.post(path, body)["came"]
    show_all(result, as_json=as_json, columns=COLUMNS)
