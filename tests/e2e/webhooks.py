"""The webhooks at the sample receiver, with every signature verified again by two libraries."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import standardwebhooks
import svix.webhooks

from tests.support.waiting import PATIENCE_SECONDS, until_true_here


@dataclass(frozen=True, slots=True)
class Delivery:
    """One received webhook."""

    headers: Mapping[str, str]
    body: bytes

    @property
    def payload(self) -> Mapping[str, Any]:
        payload: Mapping[str, Any] = json.loads(self.body)
        return payload

    @property
    def message_id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def event_type(self) -> str:
        return self.headers["webhook-event-type"]

    @property
    def swap_id(self) -> str:
        return str(self.payload["swap"]["id"])

    @property
    def sequence(self) -> int:
        """Return the swap's event number, by which a receiver orders deliveries."""
        return int(self.payload["swap"]["metadata"]["sequence"])

    def verify(self, secret: str) -> None:
        """
        :raises Exception: of the library that refuses the signature.
        """
        svix.webhooks.Webhook(secret).verify(self.body, dict(self.headers))
        standardwebhooks.Webhook(secret).verify(self.body, dict(self.headers))


def read_deliveries(received: Path, swap_id: str) -> list[Delivery]:
    """Return the deliveries about a swap, each message once, in the order of its events."""
    mine = {one.message_id: one for one in read_attempts(received, swap_id)}
    return sorted(mine.values(), key=lambda one: one.sequence)


def read_attempts(received: Path, swap_id: str) -> list[Delivery]:
    """Return every delivery attempt about a swap, in the order of arrival."""
    lines = received.read_text().splitlines() if received.exists() else []
    rows = [json.loads(line) for line in lines]
    deliveries = [Delivery(row["headers"], base64.b64decode(row["body"])) for row in rows]
    return [one for one in deliveries if one.swap_id == swap_id]


async def deliveries_upto(
    received: Path, swap_id: str, statuses: Sequence[str], *, within: float = PATIENCE_SECONDS
) -> list[Delivery]:
    """Wait for one delivery per status and return all deliveries."""

    def those() -> list[Delivery]:
        deliveries = read_deliveries(received, swap_id)
        return deliveries if len(deliveries) >= len(statuses) else []

    return await until_true_here(those, what=f"webhooks of {swap_id}: {statuses}", within=within)
