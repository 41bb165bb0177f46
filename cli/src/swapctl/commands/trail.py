"""The messages of all services about one swap."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

import typer
from psycopg import sql

from swapctl.admin_client import RequestFailed
from swapctl.auditor import Auditor, open_auditor
from swapctl.context import get_endpoints
from swapctl.message_trail import OutboxMessage, collect_marks, is_about_swap, timeline
from swapctl.output import Json, show_all

# The services that produce messages.
SOURCES: Final = ("api", "settler", "chain_watcher")
COLUMNS: Final = ("after_ms", "from", "topic", "says", "published_after_ms")
# A deposit may be seen before the swap's first message is committed.
BEFORE: Final = timedelta(minutes=10)
EVER: Final = datetime(2000, 1, 1, tzinfo=UTC)

KEYED: Final = b"""
SELECT id, topic, key, payload, created_at, published_at FROM {}.outbox
WHERE key = %s AND created_at >= %s
"""
ASSIGNED: Final = ("deposit-target.assigned.v1",)
ABOUT: Final = (*ASSIGNED, "deposit.changed.v1", "payout.changed.v1", "deposit.hinted.v1")
CONTAINING: Final = b"""
SELECT id, topic, key, payload, created_at, published_at FROM {}.outbox
WHERE created_at >= %s AND topic = ANY(%s)
  AND EXISTS (SELECT FROM unnest(%s::bytea[]) AS needle WHERE position(needle IN payload) > 0)
"""


def show_trail(context: typer.Context, swap_id: UUID, *, as_json: Json = False) -> None:
    """Show the messages about a swap, by when their transactions in the database began.

    They name the swap, its sequence number, one of its transactions, or its own deposit address
    once something was received there.
    """
    with open_auditor(get_endpoints(context).auditor_url) as auditor:
        messages = read_messages(auditor, str(swap_id))
    if not messages:
        raise RequestFailed(f"there are no messages about swap {swap_id}")
    show_all(timeline(messages), as_json=as_json, columns=COLUMNS)


def read_messages(auditor: Auditor, swap_id: str, *, since: datetime = EVER) -> list[OutboxMessage]:
    """Return the messages about a swap, in no order.

    :param since: before its first message; older parts of the outboxes are not read.
    """
    keyed = _outboxes(auditor, KEYED, [swap_id.encode(), since])
    if not keyed:
        return []
    marks = collect_marks(swap_id, keyed)
    first = min(row.created_at for row in keyed) - BEFORE
    addresses = [address.encode() for address in marks.deposit_addresses]
    marks = marks.of_own_addresses(_containing(auditor, addresses, ASSIGNED, first))
    found = _containing(auditor, marks.search_terms(), ABOUT, first)
    return [*keyed, *(row for row in found if is_about_swap(row, marks))]


def _containing(
    auditor: Auditor, terms: Sequence[bytes], topics: Sequence[str], since: datetime
) -> list[OutboxMessage]:
    """Return the messages of these topics that contain one of the terms."""
    return _outboxes(auditor, CONTAINING, [since, list(topics), terms]) if terms else []


def _outboxes(auditor: Auditor, query: bytes, values: list[object]) -> list[OutboxMessage]:
    found: list[OutboxMessage] = []
    for source in SOURCES:
        if auditor.has_table(f"{source}.outbox"):
            of_source = query.replace(b"{}", sql.Identifier(source).as_bytes(None))
            found += [
                OutboxMessage(source, **{**row, "key": bytes(row["key"]).decode()})
                for row in auditor.rows(of_source, values)
            ]
    return found
