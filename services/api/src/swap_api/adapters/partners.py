"""Partners, apps and keys on Postgres, for operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from swap_api.domain.keys import Allowances, Environment
from swap_api.domain.refusals import NothingThere
from swap_api.ports import NewKey
from swap_runtime.database import Engine, reading, transaction
from swap_runtime.sql import Statement, sql

ADD_PARTNER: Final = sql("INSERT INTO partner (id, name, created_at) VALUES (:id, :name, :at)")
ADD_APP: Final = sql("""
INSERT INTO app (id, partner_id, name, environment, reads_per_minute, prices_per_minute,
                 creates_per_minute, ceiling_factor, pending_swaps_max, limits_lifted,
                 swap_lifetime, created_at)
SELECT :id, partner.id, :name, :environment, CAST(:reads AS int), CAST(:prices AS int),
       CAST(:creates AS int), CAST(:ceiling_factor AS int), CAST(:pending_swaps AS int), :is_lifted,
       CAST(:swap_lifetime AS interval), :at
FROM partner WHERE partner.id = :partner_id RETURNING id
""")
FIND_ENVIRONMENT: Final = sql("SELECT environment FROM app WHERE id = :id")
ADD_KEY: Final = sql("""
INSERT INTO api_key (id, app_id, kind, hash, last_four, created_at, expires_at)
VALUES (:id, :app_id, :kind, :hash, :last_four, :at, :expires_at)
""")
REVOKE_KEY: Final = sql("""
UPDATE api_key SET revoked_at = coalesce(revoked_at, :at) WHERE id = :id RETURNING id
""")
LIST_PARTNERS: Final = sql("SELECT id, name, created_at FROM partner ORDER BY created_at, id")
LIST_APPS: Final = sql("""
SELECT id, partner_id, name, environment, reads_per_minute, prices_per_minute, creates_per_minute,
       ceiling_factor, pending_swaps_max, limits_lifted,
       CAST(extract(epoch FROM swap_lifetime) AS int) AS swap_lifetime_seconds, created_at
FROM app ORDER BY created_at, id
""")
LIST_KEYS: Final = sql("""
SELECT id, app_id, kind, last_four, created_at, expires_at, revoked_at, last_used_at
FROM api_key WHERE CAST(:app_id AS uuid) IS NULL OR app_id = :app_id ORDER BY created_at, id
""")


class PostgresPartners:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def add_partner(self, partner_id: UUID, name: str, at: datetime) -> None:
        await self._write(ADD_PARTNER, {"id": partner_id, "name": name, "at": at})

    async def add_app(
        self,
        app_id: UUID,
        partner_id: UUID,
        *,
        name: str,
        environment: Environment,
        allowances: Allowances,
        at: datetime,
    ) -> None:
        values = {
            "id": app_id,
            "partner_id": partner_id,
            "name": name,
            "environment": environment.value,
            "reads": allowances.reads,
            "prices": allowances.prices,
            "creates": allowances.creates,
            "ceiling_factor": allowances.ceiling_factor,
            "pending_swaps": allowances.pending_swaps,
            "is_lifted": allowances.is_lifted,
            "swap_lifetime": allowances.swap_lifetime,
            "at": at,
        }
        if not await self._write(ADD_APP, values):
            raise NothingThere("There is no such partner")

    async def find_environment(self, app_id: UUID) -> Environment | None:
        async with reading(self._engine) as connection:
            found = await connection.scalar(FIND_ENVIRONMENT, {"id": app_id})
        return None if found is None else Environment(found)

    async def add_key(self, key: NewKey) -> None:
        values = {
            "id": key.id,
            "app_id": key.app_id,
            "kind": key.kind.value,
            "hash": key.hash,
            "last_four": key.last_four,
            "at": key.created_at,
            "expires_at": key.expires_at,
        }
        await self._write(ADD_KEY, values)

    async def revoke_key(self, key_id: UUID, at: datetime) -> None:
        if not await self._write(REVOKE_KEY, {"id": key_id, "at": at}):
            raise NothingThere("There is no such key")

    async def list_partners(self) -> Sequence[Mapping[str, Any]]:
        return await self._read(LIST_PARTNERS, {})

    async def list_apps(self) -> Sequence[Mapping[str, Any]]:
        return await self._read(LIST_APPS, {})

    async def list_keys(self, app_id: UUID | None) -> Sequence[Mapping[str, Any]]:
        return await self._read(LIST_KEYS, {"app_id": app_id})

    async def _write(self, statement: Statement, values: Mapping[str, Any]) -> int:
        async with transaction(self._engine) as connection:
            return int((await connection.execute(statement, values)).changed)

    async def _read(
        self, statement: Statement, values: Mapping[str, Any]
    ) -> Sequence[Mapping[str, Any]]:
        async with reading(self._engine) as connection:
            return [row._asdict() for row in await connection.execute(statement, values)]
