"""Second factors and sign-ins that wait for one, on Postgres. Secrets are sealed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from swap_dashboard.domain.second_factor import PendingSignIn, SecondFactor
from swap_runtime.operators.operator_log import log_order
from swap_runtime.postgres.database import (
    Engine,
    Transaction,
    execute_alone,
    read_alone,
    reading,
    transaction,
)
from swap_runtime.postgres.sql import sql
from swap_runtime.sealing import Sealing, Unreadable

FIND: Final = sql("""
SELECT sealed_secret, confirmed_at IS NOT NULL AS is_confirmed, begun_by, created_at
FROM second_factor WHERE account_id = :account_id
""")
BEGIN: Final = sql("""
INSERT INTO second_factor AS known (account_id, sealed_secret, begun_by, created_at)
VALUES (:account_id, :sealed_secret, :begun_by, :at)
ON CONFLICT (account_id) DO UPDATE SET sealed_secret = excluded.sealed_secret,
  begun_by = excluded.begun_by, created_at = excluded.created_at
WHERE known.confirmed_at IS NULL
""")
CONFIRM: Final = sql("""
UPDATE second_factor SET confirmed_at = :at, last_step = :step
WHERE account_id = :account_id AND confirmed_at IS NULL AND sealed_secret = :checked
""")
SEAL_ANEW: Final = sql("""
UPDATE second_factor SET sealed_secret = :sealed_secret
WHERE account_id = :account_id AND sealed_secret = :earlier
""")
USE_STEP: Final = sql("""
UPDATE second_factor SET last_step = :step
WHERE account_id = :account_id AND confirmed_at IS NOT NULL AND last_step < :step
""")
USE_CODE: Final = sql("""
DELETE FROM recovery_code WHERE account_id = :account_id AND code_hash = :code
""")
REMOVE_CODES: Final = sql("DELETE FROM recovery_code WHERE account_id = :account_id")
ADD_CODES: Final = sql("""
INSERT INTO recovery_code (account_id, code_hash)
SELECT :account_id, code FROM unnest(CAST(:codes AS bytea[])) AS made(code)
""")
COUNT_CODES: Final = sql("SELECT count(*) FROM recovery_code WHERE account_id = :account_id")
REMOVE: Final = sql("DELETE FROM second_factor WHERE account_id = :account_id")
REMOVE_BEGUN: Final = sql("""
DELETE FROM second_factor WHERE account_id = :account_id AND created_at = :begun_at
""")

ADD_PENDING: Final = sql("""
INSERT INTO pending_sign_in (token_hash, account_id, expires_at, is_by_provider, is_by_link)
SELECT :token_hash, id, :expires_at, :is_by_provider, :is_by_link
FROM account WHERE id = :account_id AND password_hash = :password_hash FOR SHARE
""")
FIND_PENDING: Final = sql("""
SELECT account_id, is_by_provider, is_by_link FROM pending_sign_in
WHERE token_hash = :token_hash AND expires_at > :at
""")
END_PENDING: Final = sql("""
DELETE FROM pending_sign_in WHERE token_hash = :token_hash AND expires_at > :at
""")
FORGET_PENDING: Final = sql("DELETE FROM pending_sign_in WHERE expires_at < :before")


class PostgresSecondFactors:
    def __init__(self, engine: Engine, sealing: Sealing) -> None:
        self._engine = engine
        self._sealing = sealing

    async def find(self, account_id: UUID) -> SecondFactor | None:
        rows = await read_alone(self._engine, FIND, {"account_id": account_id})
        row = rows.one_or_none()
        if row is None:
            return None
        secret = self._open(row.sealed_secret, account_id)
        return SecondFactor(
            row.sealed_secret, secret, row.is_confirmed, row.begun_by, row.created_at
        )

    async def begin(self, account_id: UUID, secret: str, *, session_id: UUID, at: datetime) -> bool:
        """Store a secret that is not confirmed; False when a confirmed one stays."""
        sealed = self._sealing.seal(secret, owner_id=account_id)
        owned = {"account_id": account_id, "begun_by": session_id}
        values = {**owned, "sealed_secret": sealed, "at": at}
        return bool((await execute_alone(self._engine, BEGIN, values)).changed)

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
        stored = {"account_id": account_id, "checked": checked.sealed_secret}
        values = {**stored, "step": step, "at": at}
        async with transaction(self._engine) as connection:
            if not (await connection.execute(CONFIRM, values)).changed:
                return False
            _store_codes(connection, account_id, codes)
        return True

    async def seal_anew(self, account_id: UUID, factor: SecondFactor) -> None:
        """Seal a secret with the first key, where another key sealed it."""
        earlier, secret = factor.sealed_secret, factor.secret
        if secret is None or self._sealing.is_current(earlier):
            return
        sealed = self._sealing.seal(secret, owner_id=account_id)
        values = {"account_id": account_id, "sealed_secret": sealed, "earlier": earlier}
        await execute_alone(self._engine, SEAL_ANEW, values)

    async def use_step(self, account_id: UUID, step: int) -> bool:
        """Use the code of a half minute: True once, and for no earlier one."""
        values = {"account_id": account_id, "step": step}
        return bool((await execute_alone(self._engine, USE_STEP, values)).changed)

    async def use_recovery_code(self, account_id: UUID, code: bytes) -> bool:
        """Use one: True once."""
        values = {"account_id": account_id, "code": code}
        return bool((await execute_alone(self._engine, USE_CODE, values)).changed)

    async def replace_codes(self, account_id: UUID, codes: Sequence[bytes]) -> None:
        async with transaction(self._engine) as connection:
            _store_codes(connection, account_id, codes)

    async def count_codes(self, account_id: UUID) -> int:
        async with reading(self._engine) as connection:
            return int(await connection.scalar(COUNT_CODES, {"account_id": account_id}))

    async def remove(self, account_id: UUID) -> bool:
        rows = await execute_alone(self._engine, REMOVE, {"account_id": account_id})
        return bool(rows.changed)

    async def remove_by_order(self, account_id: UUID, begun_at: datetime) -> bool:
        """Remove the one that began then, with the order's row of the log; False for another."""
        values = {"account_id": account_id, "begun_at": begun_at}
        async with transaction(self._engine) as connection:
            if not (await connection.execute(REMOVE_BEGUN, values)).changed:
                return False
            await log_order(connection)
        return True

    def _open(self, sealed: str, account_id: UUID) -> str | None:
        try:
            return self._sealing.open(sealed, owner_id=account_id)
        except Unreadable:
            return None


class PostgresPendingSignIns:
    """Sign-ins that wait for a code."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def add(
        self,
        token_hash: bytes,
        pending: PendingSignIn,
        expires_at: datetime,
        *,
        password_hash: str,
    ) -> bool:
        """Store it; False when the account's password is another one by now."""
        values = {
            "token_hash": token_hash,
            "account_id": pending.account_id,
            "expires_at": expires_at,
            "is_by_provider": pending.is_by_provider,
            "is_by_link": pending.is_by_link,
            "password_hash": password_hash,
        }
        return bool((await execute_alone(self._engine, ADD_PENDING, values)).changed)

    async def find(self, token_hash: bytes, at: datetime) -> PendingSignIn | None:
        values = {"token_hash": token_hash, "at": at}
        row = (await read_alone(self._engine, FIND_PENDING, values)).one_or_none()
        if row is None:
            return None
        return PendingSignIn(
            row.account_id, is_by_provider=row.is_by_provider, is_by_link=row.is_by_link
        )

    async def end(self, token_hash: bytes, at: datetime) -> bool:
        """End one that is open: True once."""
        values = {"token_hash": token_hash, "at": at}
        return bool((await execute_alone(self._engine, END_PENDING, values)).changed)

    async def forget(self, before: datetime) -> None:
        await execute_alone(self._engine, FORGET_PENDING, {"before": before})


def _store_codes(connection: Transaction, account_id: UUID, codes: Sequence[bytes]) -> None:
    connection.post(REMOVE_CODES, {"account_id": account_id})
    connection.post(ADD_CODES, {"account_id": account_id, "codes": list(codes)})
