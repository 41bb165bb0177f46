"""Replaces hashes of keys, tokens and invitations while the pepper is rotated."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from swap_api.admission.store.callers import KeyHashes
from swap_runtime.postgres.database import Engine, execute_alone
from swap_runtime.postgres.sql import sql

T = TypeVar("T")
# A text is a key, an access token or an invitation. So one table at most has a row with its hash.
REHASH: Final = sql("""
WITH of_key AS (
    UPDATE api_key SET hash = :new WHERE hash = ANY(CAST(:others AS bytea[])) RETURNING 1),
of_token AS (
    UPDATE access_token SET hash = :new WHERE hash = ANY(CAST(:others AS bytea[])) RETURNING 1),
of_invitation AS (
    UPDATE invitation SET hash = :new WHERE hash = ANY(CAST(:others AS bytea[])) RETURNING 1)
SELECT 1 FROM of_key UNION ALL SELECT 1 FROM of_token UNION ALL SELECT 1 FROM of_invitation
""")


class PostgresPepperRotation:
    """Replaces a hash of another pepper by the hash of `KEY_PEPPER`, when its text is used."""

    def __init__(self, engine: Engine, hashes: KeyHashes) -> None:
        self._engine = engine
        self._hashes = hashes

    async def rehash(self, text: str) -> bool:
        """Replace the hash of a text, and return whether there was one of another pepper.

        Without other peppers there is no query.

        :raises Unavailable: when Postgres does not answer.
        """
        others = self._hashes.by_other_peppers(text)
        if not others:
            return False
        values = {"new": self._hashes(text), "others": others}
        return (await execute_alone(self._engine, REHASH, values)).changed > 0

    async def find(self, text: str, look_up: Callable[[bytes], Awaitable[T | None]]) -> T | None:
        """Look a text up by the hash of each other pepper, and replace the hash that is found.

        :param look_up: returns what has the hash, or None.
        :raises Unavailable: when Postgres does not answer.
        """
        others = self._hashes.by_other_peppers(text)
        for other in others:
            if (found := await look_up(other)) is not None:
                await self.rehash(text)
                return found
        # Another request may have replaced the hash between the two lookups.
        return await look_up(self._hashes(text)) if others else None
