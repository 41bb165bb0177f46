"""Fees of apps: list and pay them."""

from __future__ import annotations

from typing import Annotated

import typer

from swapctl.context import internal
from swapctl.endpoints import ServiceName
from swapctl.operator_option import IgnoredBy, reason_option
from swapctl.output import Json, show, show_all

fees = typer.Typer(no_args_is_help=True, help="Partners' fees: list what is owed, and pay it.")
COLUMNS = ("id", "app_id", "network", "token", "base_units")


@fees.command("list")
def list_fees(context: typer.Context, *, as_json: Json = False) -> None:
    """List the fees owed to apps, one balance per asset."""
    result = internal(context, ServiceName.SETTLER).get_all("/fees", "fees")
    show_all(result, as_json=as_json, columns=COLUMNS)


@fees.command("pay")
def pay_fees(
    context: typer.Context,
    id: Annotated[int, typer.Argument(help="The id in the list.")],
    *,
    to: Annotated[str, typer.Option(help="The partner's address, on the balance's network.")],
    base_units: Annotated[str, typer.Option(help="What was listed; what came since stays owed.")],
    reason: Annotated[str, reason_option("How is the address known", "Kept with the payment.")],
    _by: IgnoredBy = None,
    as_json: Json = False,
) -> None:
    """Pay the fees owed to an app in one asset. A repeated command does not pay twice."""
    body = {"to_address": to, "base_units": base_units, "reason": reason}
    show(internal(context, ServiceName.SETTLER).post(f"/fees/{id}/pay", body), as_json=as_json)
