"""One message as a consumer receives it, and its place in the outbox it came from."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Position:
    """Where a message stands in the outbox it came from; `xid` orders commits."""

    source: str
    xid: int
    id: int

    def is_passed_by(self, watermark: Position) -> bool:
        """Return whether the watermark's consumer has handled this message already."""
        return self.source == watermark.source and (self.xid, self.id) <= (
            watermark.xid,
            watermark.id,
        )


@dataclass(frozen=True, slots=True)
class Record:
    """One message as it came from Kafka, or from the outbox itself."""

    topic: str
    partition: int
    offset: int
    key: bytes
    value: bytes
    message_id: UUID | None = None  # by its header, for bodies that cannot be decoded
    position: Position | None = None
    is_from_outbox: bool = False  # read there by the sweep, and not received from Kafka
