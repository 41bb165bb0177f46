"""Endpoints, in Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from uuid import UUID

from swap_notifier.adapters import statements
from swap_notifier.adapters.rows import to_endpoint
from swap_notifier.domain.endpoints import Endpoint
from swap_notifier.domain.outcomes import DisabledReason
from swap_runtime.database import Engine, reading, transaction


class PostgresEndpoints:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def add(self, endpoint: Endpoint, *, secret: str) -> None:
        async with transaction(self._engine) as connection:
            values = {**asdict(endpoint), "secret": secret}
            await connection.execute(statements.ADD_ENDPOINT, values)

    async def list_endpoints(self, app_id: UUID | None) -> Sequence[Endpoint]:
        async with reading(self._engine) as connection:
            rows = await connection.execute(statements.ENDPOINTS, {"app_id": app_id})
            return [to_endpoint(row) for row in rows]

    async def rotate(self, endpoint_id: UUID, *, secret: str, until: datetime) -> bool:
        async with transaction(self._engine) as connection:
            values = {"id": endpoint_id, "secret": secret, "until": until}
            return await connection.scalar(statements.ROTATE, values) is not None

    async def disable(self, endpoint_id: UUID, *, reason: DisabledReason, at: datetime) -> bool:
        async with transaction(self._engine) as connection:
            values = {"ids": [endpoint_id], "reason": reason.value, "at": at}
            found = await connection.scalar(statements.DISABLE, values)
            await connection.execute(statements.DISCARD, {"at": at})
            return found is not None

    async def enable(self, endpoint_id: UUID, *, at: datetime) -> bool:
        async with transaction(self._engine) as connection:
            await connection.execute(statements.DISCARD, {"at": at})
            values = {"id": endpoint_id, "at": at}
            return await connection.scalar(statements.ENABLE, values) is not None
