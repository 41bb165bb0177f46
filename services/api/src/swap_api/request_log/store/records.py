"""Records of requests in Postgres."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Final
from uuid import UUID

from swap_api.request_log.decide.records import REFUSED_FROM, RecordPage, RequestFilter
from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.database import Engine, execute_alone, read_alone
from swap_runtime.postgres.sql import sql

DELETE_BATCH_MAX: Final = 5000
ADD: Final = sql("""
INSERT INTO request_record (id, app_id, key_id, request_id, at, method, route, status, error_code,
                            milliseconds, swap_id, body, body_is_cut)
SELECT * FROM unnest(
  CAST(:id AS uuid[]), CAST(:app_id AS uuid[]), CAST(:key_id AS uuid[]),
  CAST(:request_id AS text[]), CAST(:at AS timestamptz[]), CAST(:method AS text[]),
  CAST(:route AS text[]), CAST(:status AS int[]), CAST(:error_code AS text[]),
  CAST(:milliseconds AS int[]), CAST(:swap_id AS uuid[]), CAST(:body AS text[]),
  CAST(:body_is_cut AS boolean[]))
""")
FORGET: Final = sql("""
DELETE FROM request_record WHERE id IN (
  SELECT id FROM request_record WHERE at < :before ORDER BY at LIMIT :limit
  FOR UPDATE SKIP LOCKED)
""")
# The oldest record that an app keeps is found by the index of the list.
TRIM: Final = sql("""
DELETE FROM request_record WHERE id IN (
  SELECT surplus.id FROM unnest(CAST(:app_ids AS uuid[])) AS named(app_id)
  CROSS JOIN LATERAL (
    SELECT id FROM request_record WHERE request_record.app_id = named.app_id
    ORDER BY at DESC, id DESC OFFSET :newest_max) AS surplus
  LIMIT :limit)
""")
SHOWN: Final = """
record.id, record.request_id, record.at, record.method, record.route, record.status,
record.error_code, record.milliseconds, record.swap_id, record.body, record.body_is_cut,
record.key_id, api_key.last_four AS key_last_four
"""
BEHIND: Final = """(record.at, record.id) < (
  SELECT start.at, start.id FROM request_record AS start
  WHERE start.id = :starting_after AND start.app_id = :app_id)"""


class PostgresRequestRecords:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def add(self, rows: Sequence[Mapping[str, object]]) -> None:
        """
        :raises Unavailable: when Postgres is away; then none may be stored.
        """
        await execute_alone(self._engine, ADD, columns(rows))

    async def forget(self, before: datetime) -> bool:
        """Delete records from before a moment; True when there may be more."""
        values = {"before": before, "limit": DELETE_BATCH_MAX}
        return (await execute_alone(self._engine, FORGET, values)).changed == DELETE_BATCH_MAX

    async def trim(self, app_ids: Collection[UUID], newest_max: int) -> bool:
        """Delete the oldest records of apps above a number; True when there may be more."""
        values = {"app_ids": list(app_ids), "newest_max": newest_max, "limit": DELETE_BATCH_MAX}
        return (await execute_alone(self._engine, TRIM, values)).changed == DELETE_BATCH_MAX

    async def list(self, wanted: RequestFilter) -> RecordPage:
        """
        :raises Unavailable: when Postgres is away.
        """
        optional = (
            (wanted.request_id, "record.request_id = :request_id"),
            (wanted.http_status, "record.status = :http_status"),
            (wanted.route, "record.route = :route"),
            (wanted.without_key, "record.key_id IS DISTINCT FROM :without_key"),
            (wanted.since, "record.at >= :since"),
            (wanted.starting_after, BEHIND),
        )
        conditions = [condition for value, condition in optional if value is not None]
        # In the words of the index `request_record_failed`, so that it is used.
        if wanted.failed_only or (wanted.http_status or 0) >= REFUSED_FROM:
            conditions.append("record.status >= 400")
        where = " AND ".join(["record.app_id = :app_id", *conditions])
        statement = sql(f"""
SELECT {SHOWN} FROM request_record AS record LEFT JOIN api_key ON api_key.id = record.key_id
WHERE {where} ORDER BY record.at DESC, record.id DESC LIMIT :limit
""")
        values = {**asdict(wanted), "limit": wanted.page_size + 1}
        found = await read_alone(self._engine, statement, values)
        rows = tuple(row._asdict() for row in found)
        return RecordPage(rows[: wanted.page_size], len(rows) > wanted.page_size)
