"""Tokens at the service's addresses that belong to no swap."""

from __future__ import annotations

from typing import Annotated

import typer

from swapctl.context import internal
from swapctl.endpoints import ServiceName
from swapctl.operator_option import By
from swapctl.output import Json, show_all

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
    token: Annotated[str | None, typer.Option(help="Which token, if it brought several.")] = None,
    sender: Annotated[
        str | None, typer.Option("--from", help="Whose transfer, if it brought several.")
    ] = None,
    _by: By = None,
    as_json: Json = False,
) -> None:
    """Show each token that a transaction brought us, and how its owner gets it back.

    With --to and --reason, of a token that no catalogue knows: order who gets it. A second operator
    approves; then the calls are shown by which the owner of the Treasury returns it (--json shows
    their data). --token and --from say which, of one transaction that brought several.
    """
    port, path = internal(context, ServiceName.SETTLER), f"/rescues/{network}/{transaction_hash}"
    if (to is None) != (reason is None):
        raise typer.BadParameter("--to and --reason are said together")
    if to is None:
        result = port.get(path)["came"]
    else:
        which = {"token": token, "from_address": sender}
        body = {"to_address": to, "reason": reason}
        body |= {name: value for name, value in which.items() if value}
        result = port.post(path, body)["came"]
    show_all(result, as_json=as_json, columns=COLUMNS)
