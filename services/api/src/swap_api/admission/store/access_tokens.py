"""Members' access tokens on Postgres: lookups that come together share a statement."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from swap_api.call_batching import CallBatcher
from swap_api.model.members import Actor, Role
from swap_runtime.postgres.database import Engine, execute_alone, read_alone
from swap_runtime.postgres.sql import Row, sql

IDENTIFIED_MAX: Final = 64  # in one look
USE_NOTED_AFTER: Final = timedelta(minutes=1)  # so that not every request is a write

IDENTIFY: Final = sql("""
SELECT access_token.hash, member.id, member.partner_id, member.name, member.role,
       access_token.id AS token_id, access_token.last_used_at
FROM access_token JOIN member ON member.id = access_token.member_id
WHERE access_token.hash = ANY(CAST(:hashes AS bytea[])) AND access_token.revoked_at IS NULL
  AND access_token.expires_at > :now AND member.removed_at IS NULL
""")
NOTE_USE: Final = sql("UPDATE access_token SET last_used_at = :now WHERE id = :id")


class PostgresAccessTokens:
    """Finds members by the hashes of their access tokens."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # Tokens are looked up before the caller is known, so no caller can be rate-limited. One
        # connection is what this takes, however many unknown tokens come at once.
        self._identifying: CallBatcher[tuple[bytes, datetime], Row | None] = CallBatcher(
            self._look_up, batch_max=IDENTIFIED_MAX
        )

    async def identify(self, token_hash: bytes, at: datetime) -> Actor | None:
        """Return the token's member; None when it is unknown, revoked or expired.

        :raises Unavailable: when that cannot be looked up.
        """
        row = await self._identifying((token_hash, at))
        if row is None:
            return None
        if row.last_used_at is None or row.last_used_at < at - USE_NOTED_AFTER:
            await execute_alone(self._engine, NOTE_USE, {"id": row.token_id, "now": at})
        return Actor(
            row.name, member_id=row.id, organization_id=row.partner_id, role=Role(row.role)
        )

    async def _look_up(
        self, lookups: Sequence[tuple[bytes, datetime]]
    ) -> Sequence[Row | Exception | None]:
        values = {
            "hashes": list({token_hash for token_hash, _ in lookups}),
            "now": max(at for _, at in lookups),
        }
        found = {bytes(row.hash): row for row in await read_alone(self._engine, IDENTIFY, values)}
        return [found.get(token_hash) for token_hash, _ in lookups]
