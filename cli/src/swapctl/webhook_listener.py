"""Reads changes of an app's swaps from the messages of its listener."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from swapctl.admin_client import PAGE_SIZE, Management, RequestFailed

LISTENER_URL: Final = "listen:"
UPDATED: Final = "swap.updated"
# A message may be stored after one with a later time, so every read starts earlier by this span.
OVERLAP: Final = timedelta(seconds=30)
Message = Mapping[str, Any]


class WebhookListener:
    """The messages of one listener, each once, in the order in which they were stored."""

    def __init__(self, manage: Management, endpoint_id: str, *, since: datetime) -> None:
        """
        :param since: messages that were stored before are skipped.
        """
        self._manage = manage
        self._path = f"/webhooks/{endpoint_id}/messages"
        self._since = since
        self._latest = since
        # Only ids of the overlap, so that the size is bounded.
        self._seen: dict[str, datetime] = {}

    @property
    def latest(self) -> datetime:
        """Return the time in UTC at which the last read message was stored."""
        return self._latest.astimezone(UTC)

    def unread(self, *, with_updates: bool) -> Iterator[Message]:
        """Yield unread messages with their bodies.

        :param with_updates: also progress within a status.
        :raises ServiceUnavailable: when the service does not answer; messages not yielded
            stay unread.
        :raises RequestFailed: when it refuses.
        """
        for row in self._rows():
            ended_at = datetime.fromisoformat(row["ended_at"])
            if self._seen.get(row["id"]) == ended_at:
                continue
            if with_updates or row["event_type"] != UPDATED:
                yield self._manage.get(f"{self._path}/{row['id']}")
            self._mark_seen(row["id"], ended_at)

    def skip(self) -> None:
        """Mark all stored messages as read."""
        for row in self._rows():
            self._mark_seen(row["id"], datetime.fromisoformat(row["ended_at"]))

    def _mark_seen(self, message_id: str, ended_at: datetime) -> None:
        self._seen.pop(message_id, None)  # a message that is sent again moves to the end
        self._seen[message_id] = ended_at
        self._latest = max(self._latest, ended_at)
        begin = self._begin()
        while self._seen[oldest := next(iter(self._seen))] < begin:
            del self._seen[oldest]

    def _begin(self) -> datetime:
        return max(self._since, self._latest - OVERLAP)

    def _rows(self) -> Iterator[Message]:
        begin, page = self._begin(), 1
        while True:
            rows = self._manage.get(
                self._path,
                oldest_first="true",
                since=begin.isoformat(),
                page=str(page),
                page_size=str(PAGE_SIZE),
            )
            yield from rows
            if len(rows) < PAGE_SIZE:
                return
            # One commit can store many messages with the same time; they are read in pages.
            last = datetime.fromisoformat(rows[-1]["ended_at"])
            begin, page = (begin, page + 1) if last == begin else (last, 1)


def find_or_add_listener(manage: Management, app_id: str) -> Message:
    """Return the app's listener.

    :raises RequestFailed: when it is disabled, or cannot be added.
    """
    endpoints = manage.get(f"/apps/{app_id}/webhooks")
    listeners = [one for one in endpoints if one["url"] == LISTENER_URL]
    for listener in listeners:
        if listener["disabled_at"] is None:
            return dict(listener)
    if listeners:
        raise RequestFailed(
            f"The listener is disabled: swapctl webhook enable {listeners[0]['id']}"
        )
    body = {"url": LISTENER_URL, "wants_updates": True}
    return dict(manage.post(f"/apps/{app_id}/webhooks", body))


def listen_from_now(manage: Management, listener: Message) -> WebhookListener:
    """Return the listener with all stored messages marked as read.

    The start is the time of the newest message: the clock of this machine may be wrong.
    """
    newest = manage.get(f"/webhooks/{listener['id']}/messages", page_size="1")
    at = newest[0]["ended_at"] if newest else listener["created_at"]
    read = WebhookListener(
        manage,
        listener["id"],
        since=datetime.fromisoformat(at) - (OVERLAP if newest else timedelta()),
    )
    read.skip()
    return read
