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
    limit: Annotated[int, typer.Option(min=1, max=500, help="Number of orders.")] = 50,
    as_json: Json = False,
) -> None:
    """List the newest orders of operators in all services, with reason and outcome."""
    rows, failure = rows_of_each(
        context,
        [service] if service else tuple(ServiceName),
        lambda port: port.get("/audit", limit=str(limit))["orders"],
    )
    # Each service returned its newest `limit` orders, so the newest of all are complete.
    rows = sorted(rows, key=lambda row: str(row["at"]), reverse=True)[:limit]
    show_all(rows, as_json=as_json, columns=COLUMNS)
    if failure is not None:
        raise failure
