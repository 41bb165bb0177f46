"""A second factor: codes of a device by time (RFC 6238), and recovery codes for who lost it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final
from uuid import UUID

RECOVERY_CODES: Final = 10
PENDING_LIFETIME: Final = timedelta(minutes=5)  # between the password and the code
ENROLMENT_LIFETIME: Final = timedelta(minutes=10)  # between the secret and its first code
DEVICE_CODE: Final = re.compile(r"[0-9]{6}")


@dataclass(frozen=True, slots=True)
class SecondFactor:
    """The secret that a device shares with an account."""

    sealed_secret: str  # as it is stored
    secret: str | None  # None when none of the keys opens it: recovery codes go on
    is_confirmed: bool
    begun_by: UUID  # the session that was shown the secret
    begun_at: datetime

    def waits_for(self, session_id: UUID, at: datetime) -> bool:
        """Whether a first code, from this session, switches it on."""
        is_late = at - self.begun_at > ENROLMENT_LIFETIME
        return not self.is_confirmed and self.begun_by == session_id and not is_late


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """A sign-in that waits for a code, and what began it."""

    account_id: UUID
    is_by_provider: bool = False
    is_by_link: bool = False


def to_code(text: str) -> str:
    """Return a code as it is compared: people write spaces and dashes."""
    return re.sub(r"[\s-]", "", text).casefold()


def is_device_code(code: str) -> bool:
    return DEVICE_CODE.fullmatch(code) is not None


def code_hash(account_id: UUID, code: str) -> bytes:
    """Return what is stored of a recovery code: it has 80 random bits, so one round is enough."""
    return sha256(f"{account_id}/{to_code(code)}".encode()).digest()
