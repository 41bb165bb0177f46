"""Webhook endpoints and their messages.

Commands that call the notifier need an operator; the others also work for members.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

import typer

from swapctl.admin_client import PAGE_SIZE
from swapctl.commands.partners import AppId, moment
from swapctl.context import internal, management
from swapctl.endpoints import ServiceName
from swapctl.output import Json, show, show_all

webhook = typer.Typer(no_args_is_help=True, help="Endpoints that receive status changes.")
ENDPOINT_COLUMNS = ("id", "url", "disabled_at", "failing_since")
MESSAGE_COLUMNS = ("id", "endpoint_id", "sequence", "event_type", "state", "attempts", "due_at")

UndeliveredOption = Annotated[
    bool, typer.Option("--undelivered", help="Only messages that were not delivered.")
]


@webhook.command("add")
def add_webhook(
    context: typer.Context,
    *,
    app_id: AppId,
    url: Annotated[str, typer.Option(help="An https URL; a test deployment also accepts http.")],
    updates: Annotated[
        bool, typer.Option("--updates", help="Also send progress within a status.")
    ] = False,
    notices: Annotated[
        bool,
        typer.Option("--notices", help="Also send a notice when another endpoint is disabled."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Add an endpoint. Its secret is shown once."""
    body = {"url": url, "wants_updates": updates, "wants_notices": notices}
    show(management(context).post(f"/apps/{app_id}/webhooks", body), as_json=as_json)


@webhook.command("list")
def list_webhooks(
    context: typer.Context,
    *,
    app_id: Annotated[UUID | None, typer.Option("--app", help="Only this app.")] = None,
    as_json: Json = False,
) -> None:
    """List endpoints with their state; operators see those of all apps."""
    if app_id is not None:
        endpoints = management(context).get(f"/apps/{app_id}/webhooks")
    else:
        endpoints = internal(context, ServiceName.NOTIFIER).get("/endpoints")["endpoints"]
    show_all(endpoints, as_json=as_json, columns=ENDPOINT_COLUMNS)


@webhook.command("rotate")
def rotate_webhook(context: typer.Context, endpoint_id: UUID, *, as_json: Json = False) -> None:
    """Rotate an endpoint's secret; the old one signs as well for a day."""
    show(management(context).post(f"/webhooks/{endpoint_id}/rotate"), as_json=as_json)


@webhook.command("disable")
def disable_webhook(context: typer.Context, endpoint_id: UUID, *, as_json: Json = False) -> None:
    """Disable an endpoint."""
    show(management(context).post(f"/webhooks/{endpoint_id}/disable"), as_json=as_json)


@webhook.command("enable")
def enable_webhook(context: typer.Context, endpoint_id: UUID, *, as_json: Json = False) -> None:
    """Enable an endpoint; missed messages can be replayed."""
    show(management(context).post(f"/webhooks/{endpoint_id}/enable"), as_json=as_json)


@webhook.command("remove")
def remove_webhook(context: typer.Context, endpoint_id: UUID, *, as_json: Json = False) -> None:
    """Remove an endpoint with its stored messages."""
    show(management(context).post(f"/webhooks/{endpoint_id}/remove"), as_json=as_json)


@webhook.command("messages")
def list_messages(context: typer.Context, swap_id: UUID, *, as_json: Json = False) -> None:
    """List the messages of a swap with their delivery state."""
    messages = internal(context, ServiceName.NOTIFIER).get("/messages", swap_id=str(swap_id))
    show_all(messages["messages"], as_json=as_json, columns=MESSAGE_COLUMNS)


@webhook.command("replay")
def replay_message(context: typer.Context, message_id: str, *, as_json: Json = False) -> None:
    """Send a message again: the same id, the same bytes."""
    notifier = internal(context, ServiceName.NOTIFIER)
    show(notifier.post(f"/messages/{message_id}/replay"), as_json=as_json)


@webhook.command("replay-since")
def replay_since(
    context: typer.Context,
    endpoint_id: UUID,
    *,
    since: Annotated[datetime, typer.Option(help="In UTC: 2026-01-31 or 2026-01-31T12:00:00.")],
    undelivered: UndeliveredOption = False,
    as_json: Json = False,
) -> None:
    """Send all messages since a time again, including those of a disabled endpoint."""
    body = {"since": moment(since), "undelivered_only": undelivered}
    show(management(context).post(f"/webhooks/{endpoint_id}/replay", body), as_json=as_json)


@webhook.command("test")
def send_test(context: typer.Context, endpoint_id: UUID, *, as_json: Json = False) -> None:
    """Send an endpoint a webhook about a swap that does not exist."""
    show(management(context).post(f"/webhooks/{endpoint_id}/test"), as_json=as_json)


@webhook.command("sent")
def list_sent(
    context: typer.Context,
    endpoint_id: UUID,
    *,
    since: Annotated[datetime | None, typer.Option(help="In UTC.", show_default=False)] = None,
    undelivered: UndeliveredOption = False,
    as_json: Json = False,
) -> None:
    """List the latest hundred messages of an endpoint."""
    messages = management(context).get(
        f"/webhooks/{endpoint_id}/messages",
        since=None if since is None else moment(since),
        undelivered_only="true" if undelivered else None,
        page_size=str(PAGE_SIZE),
    )
    show_all(messages, as_json=as_json, columns=MESSAGE_COLUMNS)


@webhook.command("attempts")
def list_attempts(context: typer.Context, message_id: str, *, as_json: Json = False) -> None:
    """List every attempt at a message: time, duration and response."""
    message = internal(context, ServiceName.NOTIFIER).get(f"/messages/{message_id}")
    show_all(message["log"], as_json=as_json)
