"""An endpoint: the address where one app receives events of its swaps."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

SECRET_PREFIX: Final = "whsec_"
SECRET_BYTES: Final = 32
# How long the secret before the last rotation signs beside the new one.
OVERLAP: Final = timedelta(hours=24)
# The URL of a listener: its messages are stored and read, and sent nowhere.
LISTENER_URL: Final = "listen:"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What may be shown of an endpoint: everything but its secrets."""

    id: UUID
    app_id: UUID
    url: str
    environment: str
    wants_updates: bool
    wants_notices: bool  # of what becomes of the app's other endpoints
    created_at: datetime
    enabled_from: datetime
    disabled_at: datetime | None
    disabled_reason: str | None
    failing_since: datetime | None
    first_delivered_at: datetime | None = None  # when a message reached it for the first time


class SecretStorage(StrEnum):
    """How a secret is stored."""

    FIRST_KEY = "first_key"
    OTHER_KEY = "otherwise"  # under another of our keys, or from before there were any
    UNREADABLE = "unreadable"  # under a key that the service does not have


def to_secret(random_bytes: bytes) -> str:
    return SECRET_PREFIX + b64encode(random_bytes).decode()


class TooMany(Exception):
    """The app has as many endpoints as it may."""


class DisabledByOperator(Exception):
    """An operator disabled the endpoint, and only an operator enables it again."""
