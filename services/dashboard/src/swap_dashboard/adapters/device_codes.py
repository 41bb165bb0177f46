"""Codes by time, from pyotp."""

from __future__ import annotations

import hmac
from datetime import datetime
from typing import Final

import pyotp

ISSUER: Final = "Swap"
STEP_SECONDS: Final = 30
ADJACENT_STEPS: Final = (-1, 0, 1)  # clocks differ, and people type slowly


class TimeCodes:
    """Codes by time, as RFC 6238 has them."""

    def new_secret(self) -> str:
        return pyotp.random_base32()

    def uri(self, secret: str, email: str) -> str:
        """Return what a device reads from a QR code."""
        return str(pyotp.TOTP(secret).provisioning_uri(name=email, issuer_name=ISSUER))

    def step_of(self, secret: str, code: str, at: datetime) -> int | None:
        """Return the half minute of a code; None when it is none of now or of the next to it."""
        present, codes = int(at.timestamp()) // STEP_SECONDS, pyotp.TOTP(secret)
        # All of them are compared, so that the time reveals nothing.
        found = [
            present + offset
            for offset in ADJACENT_STEPS
            if hmac.compare_digest(codes.generate_otp(present + offset).encode(), code.encode())
        ]
        return found[0] if found else None
