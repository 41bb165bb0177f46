"""Orders that wait for a second operator."""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer

from swapctl.admin_client import RequestFailed
from swapctl.context import internal, known_services
from swapctl.endpoints import ServiceName
from swapctl.output import Json, show, show_all

approvals = typer.Typer(
    no_args_is_help=True, help="Orders that wait for a second operator: list, approve, reject."
)
COLUMNS: Final = (
    *("service", "id", "action", "target", "order", "why", "reason"),
    *("proposed_by", "proposed_at", "expires_at"),
)
WITH_APPROVALS: Final = (ServiceName.SETTLER, ServiceName.WATCHER, ServiceName.DASHBOARD)
Id = Annotated[str, typer.Argument(help="As it is listed.")]


@approvals.command("list")
def list_approvals(context: typer.Context, *, as_json: Json = False) -> None:
    """List the orders that need a second operator, with their reason and expiry."""
    show_all(_list(context), as_json=as_json, columns=COLUMNS)


@approvals.command("approve")
def approve(context: typer.Context, id: Id, *, as_json: Json = False) -> None:
    """Approve an order of another operator and carry it out; its guards are checked again."""
    show(_decide(context, id, "approve"), as_json=as_json)


@approvals.command("reject")
def reject(context: typer.Context, id: Id, *, as_json: Json = False) -> None:
    """Reject an order; it is not carried out."""
    show(_decide(context, id, "reject"), as_json=as_json)


def _decide(context: typer.Context, id: str, verb: str) -> Any:
    """
    :raises RequestFailed: when no service has it, or with the service's own words.
    """
    for row in _list(context):
        if row["id"] == id:
            return internal(context, ServiceName(row["service"])).post(f"/approvals/{id}/{verb}")
    raise RequestFailed(f"No order with id {id} awaits approval")


def _list(context: typer.Context) -> list[dict[str, Any]]:
    return [
        {"service": service.value, **row}
        for service in known_services(context, WITH_APPROVALS)
        for row in internal(context, service).get("/approvals")["approvals"]
    ]
