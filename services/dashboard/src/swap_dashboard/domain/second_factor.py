"""A second factor: codes of a device by time (RFC 6238), and recovery codes for who lost it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Final
from uuid import UUID

RECOVERY_CODES: Final = 10
PENDING_LIFETIME: Final = timedelta(minutes=5)  # between the password and the code
DEVICE_CODE: Final = re.compile(r"[0-9]{6}")


@dataclass(frozen=True, slots=True)
class SecondFactor:
    """The secret that a device shares with an account."""

    secret: str
    is_confirmed: bool


def to_code(text: str) -> str:
    """Return a code as it is compared: people write spaces and dashes."""
    return re.sub(r"[\s-]", "", text).casefold()


def is_device_code(code: str) -> bool:
    return DEVICE_CODE.fullmatch(code) is not None


def code_hash(account_id: UUID, code: str) -> bytes:
    """Return what is stored of a recovery code: it has 80 random bits, so one round is enough."""
    return sha256(f"{account_id}/{to_code(code)}".encode()).digest()
