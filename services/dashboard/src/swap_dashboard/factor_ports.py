"""What second factors need from the outside."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from swap_dashboard.domain.second_factor import PendingSignIn, SecondFactor


class DeviceCodes(Protocol):
    """Codes by time, as RFC 6238 has them."""

    def new_secret(self) -> str: ...

    def uri(self, secret: str, email: str) -> str:
        """Return what a device reads from a QR code."""
        ...

    def step_of(self, secret: str, code: str, at: datetime) -> int | None:
        """Return the half minute of a code; None when it is none of now or of the next to it."""
        ...


class SecondFactors(Protocol):
    async def find(self, account_id: UUID) -> SecondFactor | None: ...

    async def begin(self, account_id: UUID, secret: str, *, session_id: UUID, at: datetime) -> bool:
        """Store a secret that is not confirmed; False when a confirmed one stays."""
        ...

    async def confirm(
        self,
        account_id: UUID,
        checked: SecondFactor,
        step: int,
        *,
        codes: Sequence[bytes],
        at: datetime,
    ) -> bool:
        """Switch on the secret after its code was checked, with hashes of recovery codes.

        False when another secret took its place, or it was confirmed.
        """
        ...

    async def seal_anew(self, account_id: UUID, factor: SecondFactor) -> None:
        """Seal a secret with the first key, where another key sealed it."""
        ...

    async def use_step(self, account_id: UUID, step: int) -> bool:
        """Use the code of a half minute: True once, and for no earlier one."""
        ...

    async def use_recovery_code(self, account_id: UUID, code: bytes) -> bool:
        """Use one: True once."""
        ...

    async def replace_codes(self, account_id: UUID, codes: Sequence[bytes]) -> None: ...

    async def count_codes(self, account_id: UUID) -> int: ...

    async def remove(self, account_id: UUID) -> bool: ...

    async def remove_by_order(self, account_id: UUID, begun_at: datetime) -> bool:
        """Remove the one that began then, with the order's row of the log; False for another."""
        ...


class PendingSignIns(Protocol):
    """Sign-ins that wait for a code."""

    async def add(
        self,
        token_hash: bytes,
        pending: PendingSignIn,
        expires_at: datetime,
        *,
        password_hash: str,
    ) -> bool:
        """Store it; False when the account's password is another one by now."""
        ...

    async def find(self, token_hash: bytes, at: datetime) -> PendingSignIn | None: ...

    async def end(self, token_hash: bytes, at: datetime) -> bool:
        """End one that is open: True once."""
        ...

    async def forget(self, before: datetime) -> None: ...
