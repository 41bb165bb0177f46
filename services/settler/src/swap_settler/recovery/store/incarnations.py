"""The database's incarnations, on Postgres."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Final

from swap_runtime.postgres.database import Engine, Transaction, reading, transaction
from swap_runtime.postgres.sql import Row
from swap_settler.model.store import holds
from swap_settler.recovery.decide.recovery import Incarnation, KnownNonce, Registered
from swap_settler.recovery.store import recovery_statements as statements

# More than a sequence can have handed out between a backup and its restore.
SKIPPED_NUMBERS: Final = 1_000_000_000


class PostgresIncarnations:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def find(self) -> Registered:
        async with reading(self._engine) as connection:
            found, [now] = await connection.ask((statements.LAST, {}), (statements.NOW, {}))
        last = found.one_or_none()
        return Registered(
            id=last and last.id,
            last=last and _to_incarnation(last),
            now=_to_incarnation(now),
            has_history=now.has_history,
            uncompared=frozenset(last.uncompared) if last else frozenset(),
        )

    async def known_nonces(self) -> Sequence[KnownNonce]:
        async with reading(self._engine) as connection:
            rows = await connection.execute(statements.SIGNERS)
        return [KnownNonce(row.network, row.address, row.next_nonce) for row in rows]

    async def register(
        self, seen: Registered, *, uncompared: Collection[str], evidence: str | None
    ) -> bool:
        """Register a restarted server's; False if another process did since it was looked at.

        :param evidence: what a chain has and the ledger has not: a recovery begins.
        """
        async with transaction(self._engine) as connection:
            if not await self._is_next(connection, seen):
                return False
            _register(connection, seen.now, uncompared)
            _open(connection, evidence, cause="evidence")
            if evidence is not None:  # a volume that was put back has forgotten numbers, too
                await _skip_numbers(connection)
        return True

    async def register_restored(self, seen: Registered, *, reason: str) -> bool:
        """Register it, begin a recovery, and give no number again that may have been given."""
        async with transaction(self._engine) as connection:
            if not await self._is_next(connection, seen):
                return False
            _register(connection, seen.now, ())
            _open(connection, reason, cause="restored")
            await _skip_numbers(connection)
        return True

    async def mark_compared(
        self, seen: Registered, *, uncompared: Collection[str], evidence: str | None
    ) -> bool:
        """Keep which networks still gave no answer; False if another process did meanwhile.

        :param evidence: what a chain has and the ledger has not: a recovery begins.
        """
        async with transaction(self._engine) as connection:
            await connection.execute(statements.LOCK)
            last = (await connection.execute(statements.LAST)).one_or_none()
            # Two processes find the same evidence: the second would end the recovery of the first.
            if last is None or (last.id, frozenset(last.uncompared)) != (seen.id, seen.uncompared):
                return False
            connection.post(statements.COMPARED, {"uncompared": sorted(uncompared)})
            _open(connection, evidence, cause="evidence")
            if evidence is not None:
                await _skip_numbers(connection)
        return True

    async def _is_next(self, connection: Transaction, seen: Registered) -> bool:
        """Whether nobody registered since, and the server is still the one that was looked at."""
        await connection.execute(statements.LOCK)
        now = (await connection.execute(statements.NOW)).one()
        return await self._is_newest(connection, seen) and _to_incarnation(now) == seen.now

    async def _is_newest(self, connection: Transaction, seen: Registered) -> bool:
        last = (await connection.execute(statements.LAST)).one_or_none()
        return (last and last.id) == seen.id


def _register(connection: Transaction, now: Incarnation, uncompared: Collection[str]) -> None:
    values = {**asdict(now), "uncompared": sorted(uncompared)}
    connection.post(statements.REGISTER, values)


def _open(connection: Transaction, reason: str | None, *, cause: str) -> None:
    if reason is not None:
        connection.post(statements.SUPERSEDE)
        connection.post(holds.OPEN, {"cause": cause, "reason": reason, "at": None})


async def _skip_numbers(connection: Transaction) -> None:
    for name in await connection.scalars(statements.SEQUENCES):
        values = {"name": name, "by": SKIPPED_NUMBERS}
        connection.post(statements.RAISE_SEQUENCE, values)


def _to_incarnation(row: Row) -> Incarnation:
    return Incarnation(
        system_identifier=row.system_identifier,
        timeline=row.timeline,
        database_id=row.database_id,
        table_id=row.table_id,
        booted_at=row.booted_at,
    )
