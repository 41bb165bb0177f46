"""Caps: how much may leave a network in a span of time."""

from __future__ import annotations

from typing import Annotated

import typer

from swapctl.context import internal
from swapctl.endpoints import ServiceName
from swapctl.operator_option import By
from swapctl.output import Json, show_all

caps = typer.Typer(
    no_args_is_help=True, help="Bound what may leave in a while; what is beyond waits."
)
COLUMNS = (
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
Network = Annotated[str, typer.Argument(help="Whose payments it counts.")]
Token = Annotated[
    str | None, typer.Option(help="A symbol or an address; without one, all, in dollars.")
]
App = Annotated[str | None, typer.Option(help="The id of an app; without one, all.")]
Why = Annotated[str, typer.Option(prompt="Why", help="Kept with the cap.")]


@caps.command("list")
def list_caps(context: typer.Context, *, as_json: Json = False) -> None:
    """List the caps, each with the amount of the current span."""
    result = internal(context, ServiceName.SETTLER).get("/caps")["caps"]
    show_all(result, as_json=as_json, columns=COLUMNS)


@caps.command("set")
def set_cap(
    context: typer.Context,
    network: Network,
    *,
    units: Annotated[
        str, typer.Option(help="Base units of the token; without one, millionths of a dollar.")
    ],
    seconds: Annotated[int, typer.Option(help="The span of time that it counts.")] = 86_400,
    token: Token = None,
    app_id: App = None,
    reason: Why,
    _by: By = None,
    as_json: Json = False,
) -> None:
    """Set a cap or change its limit. Queued payments leave as soon as the cap allows them."""
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
    reason: Why,
    _by: By = None,
    as_json: Json = False,
) -> None:
    """Remove a cap; payments that it held are sent."""
    body = {"network": network, "token": token, "app_id": app_id, "reason": reason}
    result = internal(context, ServiceName.SETTLER).post("/caps/lift", body)["caps"]
    show_all(result, as_json=as_json, columns=COLUMNS)
