"""The log of operators' orders."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from swapctl.context import rows_of_each
from swapctl.endpoints import ServiceName
from swapctl.output import Json, show_all

COLUMNS: Final = (
    *("at", "service", "operator", "role", "action", "parameters", "reason"),
    *("outcome", "detail", "proposal_id"),
)


def list_orders(
    context: typer.Context,
    *,
    service: Annotated[
        ServiceName | None, typer.Option("--service", help="Only this service.")
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, max=500, help="Number of newest orders per service.")
    ] = 50,
    as_json: Json = False,
) -> None:
    """List operators' orders, newest first, with operator, reason and outcome."""
    rows, failure = rows_of_each(
        context,
        [service] if service else tuple(ServiceName),
        lambda port: port.get("/audit", limit=str(limit))["orders"],
    )
    rows.sort(key=lambda row: str(row["at"]), reverse=True)
    show_all(rows, as_json=as_json, columns=COLUMNS)
    if failure is not None:
        raise failure
