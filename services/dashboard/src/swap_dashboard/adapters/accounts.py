"""Accounts on Postgres, and the tokens with which they act, sealed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from swap_dashboard.adapters import statements
from swap_dashboard.domain.accounts import Account, Membership, Session
from swap_dashboard.ports import EmailTaken, MemberToken, NewMembership
from swap_runtime.postgres.database import Engine, execute_alone, read_alone, reading, transaction
from swap_runtime.sealing import Sealing


class PostgresAccounts:
    def __init__(self, engine: Engine, sealing: Sealing) -> None:
        self._engine = engine
        self._sealing = sealing

    async def add(self, account: Account, at: datetime) -> None:
        """
        :raises EmailTaken: when there is one of the email.
        """
        values = {
            "id": account.id,
            "email": account.email,
            "password_hash": account.password_hash,
            "at": at,
        }
        rows = await execute_alone(self._engine, statements.ADD_ACCOUNT, values)
        if not rows.changed:
            raise EmailTaken

    async def find(self, email: str) -> Account | None:
        rows = await read_alone(self._engine, statements.FIND_ACCOUNT, {"email": email})
        row = rows.one_or_none()
        return None if row is None else Account(*row)

    async def find_by_id(self, account_id: UUID) -> Account:
        row = (
            await read_alone(self._engine, statements.FIND_ACCOUNT_BY_ID, {"id": account_id})
        ).one()
        return Account(*row)

    async def set_password(self, account_id: UUID, password_hash: str, at: datetime) -> None:
        """Set it, and end the sign-ins that wait for a code after the password of before."""
        values = {"id": account_id, "password_hash": password_hash, "at": at}
        async with transaction(self._engine) as connection:
            connection.post(statements.SET_PASSWORD, values)
            connection.post(statements.END_PENDING, {"account_id": account_id})

    async def set_first_password(self, account_id: UUID, password_hash: str, at: datetime) -> bool:
        """Set it unless the owner has chosen one: True once."""
        values = {"id": account_id, "password_hash": password_hash, "at": at}
        rows = await execute_alone(self._engine, statements.SET_FIRST_PASSWORD, values)
        return bool(rows.changed)

    async def replace_lost_password(
        self, session: Session, password_hash: str, at: datetime, *, since: datetime
    ) -> bool:
        """Set it by a session that a link opened since a time: True once.

        The account's other sessions, its sign-in links and the sign-ins that wait for a code end.
        """
        values = {
            "id": session.account_id,
            "session_id": session.id,
            "password_hash": password_hash,
            "at": at,
            "since": since,
        }
        owned = {"account_id": session.account_id}
        async with transaction(self._engine) as connection:
            rows = await connection.execute(statements.REPLACE_LOST_PASSWORD, values)
            if not rows.changed:
                return False
            connection.post(statements.END_ALL, {**owned, "but": session.id})
            connection.post(statements.END_LINKS, owned)
            connection.post(statements.END_PENDING, owned)
        return True

    async def confirm_email(self, account_id: UUID, password_hash: str, at: datetime) -> None:
        """Leave the account to the owner of its email, unless that was done before.

        The password is replaced; its sessions, sign-in links and sign-ins that wait for a code end.
        """
        values = {"id": account_id, "password_hash": password_hash, "at": at}
        owned = {"account_id": account_id}
        async with transaction(self._engine) as connection:
            if not (await connection.execute(statements.CONFIRM_EMAIL, values)).changed:
                return
            connection.post(statements.END_ALL, {**owned, "but": None})
            connection.post(statements.END_LINKS, owned)
            connection.post(statements.END_PENDING, owned)

    async def add_membership(
        self, account_id: UUID, membership: NewMembership, at: datetime
    ) -> None:
        """Store it with its token sealed.

        An organization that was joined before is joined again: the earlier member may be removed.
        """
        owned = {"account_id": account_id, "organization_id": membership.organization_id}
        async with transaction(self._engine) as connection:
            connection.post(statements.REMOVE_MEMBERSHIP, owned)
            connection.post(
                statements.ADD_MEMBERSHIP,
                {
                    **owned,
                    **self._seal_token(membership.id, membership.token),
                    "id": membership.id,
                    "organization_name": membership.organization_name,
                    "member_id": membership.member_id,
                    "at": at,
                },
            )

    async def memberships(self, account_id: UUID) -> Sequence[Membership]:
        rows = await read_alone(self._engine, statements.MEMBERSHIPS, {"account_id": account_id})
        return [
            Membership(
                row.id,
                row.account_id,
                row.organization_id,
                row.organization_name,
                row.token_expires_at,
            )
            for row in rows
        ]

    async def token(self, membership_id: UUID) -> str:
        """Return the membership's token, opened.

        :raises Unreadable: when none of the keys opens it.
        """
        async with reading(self._engine) as connection:
            sealed = await connection.scalar(statements.SEALED_TOKEN, {"id": membership_id})
        return self._sealing.open(sealed, owner_id=membership_id)

    async def replace_token(self, membership_id: UUID, token: MemberToken) -> None:
        values = {"id": membership_id, **self._seal_token(membership_id, token)}
        await execute_alone(self._engine, statements.REPLACE_TOKEN, values)

    def _seal_token(self, membership_id: UUID, token: MemberToken) -> dict[str, object]:
        return {
            "sealed_token": self._sealing.seal(token.text, owner_id=membership_id),
            "token_id": token.id,
            "token_expires_at": token.expires_at,
        }
