"""What the sample receiver was sent."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import orjson


@dataclass(frozen=True, slots=True)
class Delivery:
    """One webhook as it arrived."""

    at: datetime
    message_id: str
    event_type: str
    swap_id: str
    status: str
    verified: bool


def read_deliveries(path: Path, swap_id: str) -> tuple[Delivery, ...]:
    """Return what was delivered about a swap so far."""
    if not path.exists():
        return ()
    lines = path.read_bytes().splitlines()
    deliveries = (_delivery(orjson.loads(line)) for line in lines)
    return tuple(delivery for delivery in deliveries if delivery.swap_id == swap_id)


def _delivery(row: dict[str, object]) -> Delivery:
    headers = row["headers"]
    assert isinstance(headers, dict)
    swap = orjson.loads(base64.b64decode(str(row["body"])))["swap"]
    return Delivery(
        at=datetime.fromisoformat(str(row["at"])),
        message_id=headers["webhook-id"],
        event_type=headers["webhook-event-type"],
        swap_id=swap["id"],
        status=swap["status"],
        verified=bool(row["verified"]),
    )
