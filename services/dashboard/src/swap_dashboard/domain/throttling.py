"""How long a sign-in is refused after failures."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Final

PAUSE_MAX: Final = timedelta(minutes=15)
FORGOTTEN_AFTER: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class FailureCounter:
    """What failures are counted by: an email, or the address of a client."""

    key: bytes
    free: int  # failures without a pause


def failure_counters(email: str, address: str) -> tuple[FailureCounter, FailureCounter]:
    """Return both: one guesses at many accounts, many guess at one.

    An unknown email is counted as a known one, so that the pause reveals nothing.
    """
    return FailureCounter(_key("email", email), 5), FailureCounter(_key("address", address), 30)


def _key(kind: str, text: str) -> bytes:
    return sha256(f"{kind}/{text}".encode()).digest()
