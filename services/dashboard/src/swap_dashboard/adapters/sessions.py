"""Sessions and sign-in links on Postgres, by a hash of their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from swap_dashboard.adapters import statements
from swap_dashboard.domain.accounts import Session
from swap_runtime.postgres.database import Engine, execute_alone, read_alone, reading
from swap_runtime.postgres.sql import Row

LAST_SEEN_INTERVAL: Final = timedelta(minutes=1)  # so that not every request is a write


class PostgresSessions:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def add(self, session: Session, token_hash: bytes, *, password_hash: str) -> bool:
        """Store it; False when the account's password is another one by now."""
        values = {
            "token_hash": token_hash,
            "id": session.id,
            "account_id": session.account_id,
            "membership_id": session.membership_id,
            "created_at": session.created_at,
            "last_seen_at": session.last_seen_at,
            "expires_at": session.expires_at,
            "browser": session.browser,
            "address": session.address,
            "is_by_provider": session.is_by_provider,
            "is_by_link": session.is_by_link,
            "password_hash": password_hash,
        }
        return bool((await execute_alone(self._engine, statements.ADD_SESSION, values)).changed)

    async def find(
        self, token_hash: bytes, at: datetime, idle_since: datetime, *, is_use: bool
    ) -> Session | None:
        """Return the session of a token; None when it ended.

        :param is_use: whether to note its use, so that it is not idle.
        """
        values = {"token_hash": token_hash, "at": at, "idle_since": idle_since}
        row = (await read_alone(self._engine, statements.FIND_SESSION, values)).one_or_none()
        if row is None:
            return None
        if is_use and row.last_seen_at < at - LAST_SEEN_INTERVAL:
            await execute_alone(self._engine, statements.UPDATE_LAST_SEEN, {"id": row.id, "at": at})
        return _to_session(row)

    async def list_open(
        self, account_id: UUID, at: datetime, idle_since: datetime
    ) -> Sequence[Session]:
        values = {"account_id": account_id, "at": at, "idle_since": idle_since}
        rows = await read_alone(self._engine, statements.OPEN_SESSIONS, values)
        return [_to_session(row) for row in rows]

    async def use_membership(self, session_id: UUID, membership_id: UUID) -> bool:
        """Act in another organization from now on; False when it is not the account's."""
        values = {"id": session_id, "membership_id": membership_id}
        rows = await execute_alone(self._engine, statements.USE_MEMBERSHIP, values)
        return bool(rows.changed)

    async def end(self, session_id: UUID, account_id: UUID) -> bool:
        values = {"id": session_id, "account_id": account_id}
        return bool((await execute_alone(self._engine, statements.END_SESSION, values)).changed)

    async def end_all(self, account_id: UUID, *, but: UUID | None = None) -> int:
        values = {"account_id": account_id, "but": but}
        return (await execute_alone(self._engine, statements.END_ALL, values)).changed

    async def forget_ended(self, at: datetime, idle_since: datetime) -> int:
        values = {"at": at, "idle_since": idle_since}
        return (await execute_alone(self._engine, statements.FORGET_SESSIONS, values)).changed


class PostgresSignInLinks:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def add(self, token_hash: bytes, account_id: UUID, expires_at: datetime) -> None:
        values = {"token_hash": token_hash, "account_id": account_id, "expires_at": expires_at}
        await execute_alone(self._engine, statements.ADD_LINK, values)

    async def account_of(self, token_hash: bytes, at: datetime) -> str | None:
        """Return the email that a link signs in, and leave the link as it is."""
        values = {"token_hash": token_hash, "at": at}
        async with reading(self._engine) as connection:
            email: str | None = await connection.scalar(statements.LINK_EMAIL, values)
        return email

    async def take(self, token_hash: bytes, at: datetime) -> UUID | None:
        """Return the link's owner, the first time."""
        values = {"token_hash": token_hash, "at": at}
        row = (await execute_alone(self._engine, statements.TAKE_LINK, values)).one_or_none()
        return None if row is None else row.account_id


def _to_session(row: Row) -> Session:
    return Session(
        id=row.id,
        account_id=row.account_id,
        email=row.email,
        membership_id=row.membership_id,
        created_at=row.created_at,
        last_seen_at=row.last_seen_at,
        expires_at=row.expires_at,
        browser=row.browser,
        address=row.address,
        is_by_provider=row.is_by_provider,
        is_by_link=row.is_by_link,
    )
