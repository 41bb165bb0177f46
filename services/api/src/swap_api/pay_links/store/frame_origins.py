"""Which sites may show an app's pay pages in a frame, on Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from swap_runtime.postgres.database import Engine, reading
from swap_runtime.postgres.sql import sql

FRAME_ORIGINS: Final = sql("SELECT frame_origins FROM app WHERE id = :app_id")


class PostgresFrameOrigins:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def of_app(self, app_id: UUID) -> Sequence[str]:
        """
        :raises Unavailable: when Postgres is away.
        """
        async with reading(self._engine) as connection:
            origins: Sequence[str] | None = await connection.scalar(
                FRAME_ORIGINS, {"app_id": app_id}
            )
        return origins or ()
