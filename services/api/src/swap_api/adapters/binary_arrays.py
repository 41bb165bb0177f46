"""Arrays go to Postgres in binary: as text every byte of a document would be looked at twice."""

from __future__ import annotations

from typing import Any

from psycopg.types.array import ListBinaryDumper
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine


def send_arrays_in_binary(engine: AsyncEngine) -> None:
    """Do so on every connection that the engine opens from now on."""

    def register(dbapi_connection: Any, _record: object) -> None:
        # The one registered last is taken where either would do.
        dbapi_connection.driver_connection.adapters.register_dumper(list, ListBinaryDumper)

    event.listen(engine.sync_engine, "connect", register)
