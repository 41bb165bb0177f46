"""Caps limit the outflow of a network within a time span."""

from __future__ import annotations

from typing import Annotated

import typer

from swapctl.context import internal
from swapctl.endpoints import ServiceName
from swapctl.operator_option import IgnoredBy, reason_option
from swapctl.output import Json, show_all

caps = typer.Typer(
    no_args_is_help=True, help="Limit the outflow within a time span; payments above a cap wait."
)
COLUMNS = (
    "id",
    "network",
    "token",
    "app_id",
    "units",
    "counts",
    "seconds",
    "spent",
    "waiting",
    "by",
    "reason",
)
COUNTED = (
    "counts_until",
    "kind",
    "state",
    "units",
    "token",
    "base_units",
    "transaction_hash",
    "swap_id",
    "deposit_id",
    "app_id",
)
Network = Annotated[str, typer.Argument(help="The network of the counted payments.")]
Token = Annotated[
    str | None, typer.Option(help="A symbol or an address; by default all tokens, in dollars.")
]
App = Annotated[str | None, typer.Option(help="The id of an app; by default all apps.")]
Reason = Annotated[str, reason_option("Why", "Stored with the cap.")]


@caps.command("list")
def list_caps(context: typer.Context, *, as_json: Json = False) -> None:
    """List the caps, each with the amount spent in its current span."""
    result = internal(context, ServiceName.SETTLER).get("/caps")["caps"]
    show_all(result, as_json=as_json, columns=COLUMNS)


@caps.command("spent")
def list_spent(
    context: typer.Context,
    id: Annotated[int, typer.Argument(help="The id of the cap in the list.")],
    *,
    as_json: Json = False,
) -> None:
    """List the payments that the spent amount of a cap is the sum of, the newest first."""
    path = f"/caps/{id}/spent"
    result = internal(context, ServiceName.SETTLER).get_all(path, "payments")
    show_all(result, as_json=as_json, columns=COUNTED)


@caps.command("set")
def set_cap(
    context: typer.Context,
    network: Network,
    *,
    units: Annotated[
        str, typer.Option(help="Base units of the token; without --token, millionths of a dollar.")
    ],
    seconds: Annotated[int, typer.Option(help="The time span of the cap.")] = 86_400,
    token: Token = None,
    app_id: App = None,
    reason: Reason,
    _by: IgnoredBy = None,
    as_json: Json = False,
) -> None:
    """Set a cap or change its limit. Queued payments are sent as soon as the cap allows them."""
    body = {
        "network": network,
        "token": token,
        "app_id": app_id,
        "units": units,
        "seconds": seconds,
        "reason": reason,
    }
    result = internal(context, ServiceName.SETTLER).post("/caps", body)["caps"]
    show_all(result, as_json=as_json, columns=COLUMNS)


@caps.command("lift")
def lift_cap(
    context: typer.Context,
    network: Network,
    *,
    token: Token = None,
    app_id: App = None,
    reason: Reason,
    _by: IgnoredBy = None,
    as_json: Json = False,
) -> None:
    """Remove a cap; its queued payments are sent."""
    body = {"network": network, "token": token, "app_id": app_id, "reason": reason}
    result = internal(context, ServiceName.SETTLER).post("/caps/lift", body)["caps"]
    show_all(result, as_json=as_json, columns=COLUMNS)
