"""The database's incarnations, on Postgres."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Final

from swap_runtime.postgres.database import Engine, Transaction, read_alone, reading, transaction
from swap_runtime.postgres.sql import sql
from swap_settler.model.store import holds
from swap_settler.records import to_dataclass
from swap_settler.recovery.decide.recovery import Incarnation, RegisteredIncarnation

# Another restore discards the proofs of the open recovery.
SUPERSEDE: Final = sql("""
UPDATE recovery SET ended_at = now(), ended_by = 'settler', ended_because = 'another one began'
WHERE ended_at IS NULL
""")
# One process registers at a time; those that wait see what it has registered.
LOCK: Final = sql("SELECT pg_advisory_xact_lock(hashtextextended('settler.incarnation', 0))")
LAST: Final = sql("""
SELECT id, system_identifier, timeline, database_id, table_id, booted_at, uncompared
FROM incarnation ORDER BY id DESC LIMIT 1
""")
NOW: Final = sql("""
SELECT (pg_control_system()).system_identifier AS system_identifier,
       CAST(CAST('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8) AS bit(32)) AS int)
           AS timeline,
       (SELECT CAST(oid AS bigint) FROM pg_database WHERE datname = current_database())
           AS database_id,
       CAST(CAST(CAST('incarnation' AS regclass) AS oid) AS bigint) AS table_id,
       pg_postmaster_start_time() AS booted_at,
       EXISTS (SELECT FROM swap) OR EXISTS (SELECT FROM deposit)
           OR EXISTS (SELECT FROM nonce_slot) AS has_history
""")
REGISTER: Final = sql("""
INSERT INTO incarnation (
    system_identifier, timeline, database_id, table_id, booted_at, uncompared)
VALUES (:system_identifier, :timeline, :database_id, :table_id, :booted_at, :uncompared)
""")
COMPARED: Final = sql("""
UPDATE incarnation SET uncompared = :uncompared
WHERE id = (SELECT max(id) FROM incarnation)
""")
SIGNERS: Final = sql("SELECT network, address, next_nonce FROM signer ORDER BY network, address")
# Numbers that were handed out in the forgotten time were seen outside: none is given again.
SEQUENCES: Final = sql("""
SELECT quote_ident(schemaname) || '.' || quote_ident(sequencename) AS name FROM pg_sequences
WHERE schemaname = current_schema() ORDER BY sequencename
""")
RAISE_SEQUENCE: Final = sql("""
SELECT setval(CAST(:name AS regclass), nextval(CAST(:name AS regclass)) + :by)
""")


# More than a sequence can have handed out between a backup and its restore.
SKIPPED_NUMBERS: Final = 1_000_000_000


class PostgresIncarnations:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def find(self) -> RegisteredIncarnation:
        async with reading(self._engine) as connection:
            found, [now] = await connection.ask((LAST, {}), (NOW, {}))
        last = found.one_or_none()
        return RegisteredIncarnation(
            id=last and last.id,
            last=last and to_dataclass(Incarnation, last),
            now=to_dataclass(Incarnation, now),
            has_history=now.has_history,
            uncompared=frozenset(last.uncompared) if last else frozenset(),
        )

    async def known_nonces(self) -> Mapping[tuple[str, str], int]:
        """Return the next nonce of each signer, by network and address."""
        rows = await read_alone(self._engine, SIGNERS)
        return {(row.network, row.address): row.next_nonce for row in rows}

    async def register(
        self,
        seen: RegisteredIncarnation,
        *,
        uncompared: Collection[str],
        reason: str | None,
        cause: str = "evidence",
    ) -> bool:
        """Register the server's; False if another process did since it was looked at.

        :param reason: a recovery begins: of a restored copy, or by what a chain has and the ledger
            has not. No number is given again that may have been given.
        """
        async with transaction(self._engine) as connection:
            if not await self._is_next(connection, seen):
                return False
            _register(connection, seen.now, uncompared)
            await _open(connection, reason, cause=cause)
        return True

    async def mark_compared(
        self, seen: RegisteredIncarnation, *, uncompared: Collection[str], evidence: str | None
    ) -> bool:
        """Keep which networks still gave no answer; False if another process did meanwhile.

        :param evidence: what a chain has and the ledger has not: a recovery begins.
        """
        async with transaction(self._engine) as connection:
            await connection.execute(LOCK)
            last = (await connection.execute(LAST)).one_or_none()
            # Two processes find the same evidence: the second would end the recovery of the first.
            if last is None or (last.id, frozenset(last.uncompared)) != (seen.id, seen.uncompared):
                return False
            connection.post(COMPARED, {"uncompared": sorted(uncompared)})
            await _open(connection, evidence, cause="evidence")
        return True

    async def _is_next(self, connection: Transaction, seen: RegisteredIncarnation) -> bool:
        """Whether there is no newer registration, and the server is still the same."""
        await connection.execute(LOCK)
        now = (await connection.execute(NOW)).one()
        return (
            await self._is_newest(connection, seen) and to_dataclass(Incarnation, now) == seen.now
        )

    async def _is_newest(self, connection: Transaction, seen: RegisteredIncarnation) -> bool:
        last = (await connection.execute(LAST)).one_or_none()
        return (last and last.id) == seen.id


def _register(connection: Transaction, now: Incarnation, uncompared: Collection[str]) -> None:
    values = {**asdict(now), "uncompared": sorted(uncompared)}
    connection.post(REGISTER, values)


async def _open(connection: Transaction, reason: str | None, *, cause: str) -> None:
    if reason is None:
        return
    connection.post(SUPERSEDE)
    connection.post(holds.OPEN, {"cause": cause, "reason": reason, "at": None})
    # A volume that was put back has forgotten numbers, too.
    for name in await connection.scalars(SEQUENCES):
        values = {"name": name, "by": SKIPPED_NUMBERS}
        connection.post(RAISE_SEQUENCE, values)
