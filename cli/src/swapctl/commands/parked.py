"""Parked messages: they failed and await an operator."""

from __future__ import annotations

from typing import Annotated, Any, Final

import typer

from swapctl.admin_client import Internal, RequestFailed
from swapctl.context import internal, known_services
from swapctl.endpoints import ServiceName
from swapctl.output import Json, show, show_all

parked = typer.Typer(no_args_is_help=True, help="Messages that could not be processed.")
COLUMNS = ("service", "id", "topic", "key", "state", "is_behind", "parked_at", "reason")
# The other services consume no topic.
CONSUMING: Final = tuple(one for one in ServiceName if one is not ServiceName.DASHBOARD)
REPLAYED = ("service", "id", "topic", "key", "outcome")

Service = Annotated[ServiceName, typer.Option("--service", help="The service of the message.")]


@parked.command("list")
def list_parked(
    context: typer.Context,
    *,
    service: Annotated[ServiceName | None, typer.Option(help="Only this service.")] = None,
    as_json: Json = False,
) -> None:
    """List parked messages of every service or of one."""
    rows: list[dict[str, Any]] = []
    for one in known_services(context, [service] if service else CONSUMING):
        found = internal(context, one).get_all("/parked", "parked")
        rows += [{"service": one.value, **row} for row in found]
    show_all(rows, as_json=as_json, columns=COLUMNS)


@parked.command("release")
def release_parked(
    context: typer.Context, parked_id: int, *, service: Service, as_json: Json = False
) -> None:
    """Retry a message, then the later messages of its key."""
    show(internal(context, service).post(f"/parked/{parked_id}/release"), as_json=as_json)


@parked.command("drop")
def drop_parked(
    context: typer.Context, parked_id: int, *, service: Service, as_json: Json = False
) -> None:
    """Drop a message permanently."""
    show(internal(context, service).post(f"/parked/{parked_id}/drop"), as_json=as_json)


@parked.command("replay")
def replay_parked(
    context: typer.Context,
    *,
    service: Annotated[ServiceName | None, typer.Option(help="Only this service.")] = None,
    as_json: Json = False,
) -> None:
    """Retry all messages, in order per key. Use it after a repair.

    A message that fails is parked again. The exit code is 1 if one could not be released.
    """
    rows: list[dict[str, Any]] = []
    for one in known_services(context, [service] if service else CONSUMING):
        port = internal(context, one)
        for row in port.get_all("/parked", "parked"):
            if row["is_behind"] or row["state"] != "parked":
                continue  # it follows the one before it
            outcome = _release(port, row["id"])
            shown = {name: row[name] for name in ("id", "topic", "key")}
            rows.append({"service": one.value, **shown, "outcome": outcome})
    show_all(rows, as_json=as_json, columns=REPLAYED)
    if any(row["outcome"] != "released" for row in rows):
        raise typer.Exit(1)


def _release(port: Internal, parked_id: int) -> str:
    try:
        port.post(f"/parked/{parked_id}/release")
    except RequestFailed as error:
        return str(error)
    return "released"
