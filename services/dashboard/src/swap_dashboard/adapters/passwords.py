"""Password hashes by Argon2id, with the parameters of RFC 9106 for servers of little memory."""

from __future__ import annotations

import asyncio
from typing import Final

from argon2 import PasswordHasher, Type, profiles
from argon2.exceptions import InvalidHashError, VerificationError

CONCURRENT_MAX: Final = 2  # each takes 64 MiB, and a core


class Argon2Passwords:
    """Hashes passwords, and compares them slowly."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher.from_parameters(profiles.RFC_9106_LOW_MEMORY)
        assert self._hasher.type is Type.ID
        # Compared with where there is no account, so that an answer takes as long.
        self._dummy_hash = self._hasher.hash("no password is this one")
        self._slots = asyncio.Semaphore(CONCURRENT_MAX)

    async def hash(self, password: str) -> str:
        async with self._slots:
            return await asyncio.to_thread(self._hasher.hash, password)

    async def matches(self, password_hash: str | None, password: str) -> bool:
        """Take as long without a hash as with one."""
        async with self._slots:
            is_same = await asyncio.to_thread(
                self._is_same, password_hash or self._dummy_hash, password
            )
        return is_same and password_hash is not None

    def _is_same(self, password_hash: str, password: str) -> bool:
        try:
            return self._hasher.verify(password_hash, password)
        except (VerificationError, InvalidHashError):
            return False
