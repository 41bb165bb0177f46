"""Signs what is sent, so that receivers verify it with svix or any Standard Webhooks library."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache

from svix.webhooks import Webhook


@lru_cache(maxsize=4096)
def _webhook(secret: str) -> Webhook:
    return Webhook(secret)


def signed_headers(
    message_id: str, body: bytes, secrets: Sequence[str], *, at: datetime
) -> dict[str, str]:
    """Return the headers of one attempt, under both of their names; every secret signs."""
    # The library takes a moment of any zone for UTC.
    moment = at.astimezone(UTC)
    text = body.decode()
    signature = " ".join(_webhook(secret).sign(message_id, moment, text) for secret in secrets)
    timestamp = str(int(moment.timestamp()))
    return {
        "svix-id": message_id,
        "svix-timestamp": timestamp,
        "svix-signature": signature,
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": signature,
    }
