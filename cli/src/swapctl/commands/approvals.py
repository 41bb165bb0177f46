"""Orders that await a second operator."""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer

from swapctl.admin_client import Internal, RequestFailed
from swapctl.context import internal, rows_of_each
from swapctl.endpoints import ServiceName
from swapctl.output import Json, show, show_all

approvals = typer.Typer(
    no_args_is_help=True, help="Orders that await a second operator: list, approve, reject."
)
COLUMNS: Final = (
    *("service", "id", "action", "target", "order", "why", "reason"),
    *("proposed_by", "proposed_at", "expires_at"),
)
WITH_APPROVALS: Final = (ServiceName.SETTLER, ServiceName.WATCHER, ServiceName.DASHBOARD)
Id = Annotated[str, typer.Argument(help="The id in the list.")]


@approvals.command("list")
def list_approvals(context: typer.Context, *, as_json: Json = False) -> None:
    """List the orders that need a second operator, with their reason and expiry."""
    rows, failure = _list(context)
    show_all(rows, as_json=as_json, columns=COLUMNS)
    if failure is not None:
        raise failure


@approvals.command("approve")
def approve(context: typer.Context, id: Id, *, as_json: Json = False) -> None:
    """Approve another operator's order. Its guards are checked again and it is carried out."""
    show(_decide(context, id, "approve"), as_json=as_json)


@approvals.command("reject")
def reject(context: typer.Context, id: Id, *, as_json: Json = False) -> None:
    """Reject an order; it is not carried out."""
    show(_decide(context, id, "reject"), as_json=as_json)


def _decide(context: typer.Context, id: str, verb: str) -> Any:
    """
    :raises RequestFailed: when no service has it, or with the message of the service.
    """
    rows, failure = _list(context)
    for row in rows:
        if row["id"] == id:
            return internal(context, ServiceName(row["service"])).post(f"/approvals/{id}/{verb}")
    raise failure or RequestFailed(f"No order with id {id} awaits approval")


def _list(context: typer.Context) -> tuple[list[dict[str, Any]], RequestFailed | None]:
    return rows_of_each(context, WITH_APPROVALS, _open_orders)


def _open_orders(port: Internal) -> list[dict[str, Any]]:
    return port.get_all("/approvals", "approvals")
