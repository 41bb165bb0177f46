"""The messages between services about one swap, read as the auditor by swapctl."""

from __future__ import annotations

from datetime import datetime

from swapctl.auditor import open_auditor
from swapctl.commands.trail import read_messages
from swapctl.message_trail import OutboxMessage


def read_trail(auditor_url: str, swap_id: str, *, since: datetime) -> tuple[OutboxMessage, ...]:
    """Return every message about a swap, by when their transactions began.

    :param since: before the swap was created; older parts of the outboxes are not read.
    """
    with open_auditor(auditor_url) as auditor:
        messages = read_messages(auditor, swap_id, since=since)
    return tuple(sorted(messages, key=lambda one: (one.created_at, one.source, one.id)))


def summarize(message: OutboxMessage) -> str:
    """Return in one line what is new in a message."""
    body = message.body
    if "status" in body:
        sent = (f"{t['type']} {t['status']}" for t in body["transactions"])
        return ", ".join([f"#{body['sequence']} {body['status']}", *sent])
    if "state" in body:
        return f"{body['state']} in block {body['block_number']} of {body['network']}"
    return str(body.get("type") or body.get("address", ""))
