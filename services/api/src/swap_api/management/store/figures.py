"""Figures of an app's swaps, in Postgres."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID

from swap_api.management.decide.figures import Figures, Period, StatusFigures
from swap_runtime.postgres.database import Engine, read_alone, reading
from swap_runtime.postgres.sql import sql

# In the words of the index `swap_live`, so that it is taken.
LIVE: Final = sql("""
SELECT status, count(*) AS number FROM swap
WHERE app_id = :app_id
  AND status IN ('user_transfer_pending', 'ls_transfer_pending', 'pending_refund')
GROUP BY status
""")
# By the index `swap_listed`: swaps from before the longer period are not touched.
BY_STATUS: Final = sql("""
SELECT status,
  count(*) FILTER (WHERE created_at >= :day) AS number_of_day,
  count(*) AS number_of_week,
  coalesce(sum(value_usd_micros) FILTER (WHERE created_at >= :day), 0) AS value_of_day,
  coalesce(sum(value_usd_micros), 0) AS value_of_week,
  percentile_disc(0.5) WITHIN GROUP (ORDER BY closed_at - created_at)
    FILTER (WHERE created_at >= :day) AS median_of_day,
  percentile_disc(0.5) WITHIN GROUP (ORDER BY closed_at - created_at) AS median_of_week
FROM swap WHERE app_id = :app_id AND created_at >= :week
GROUP BY status
""")
NEWEST: Final = sql("""
SELECT created_at FROM swap WHERE app_id = :app_id ORDER BY created_at DESC, id DESC LIMIT 1
""")


# By the index `swap_listed`, as above; a day is the one of the list in UTC.
BY_DAY: Final = sql("""
SELECT CAST(created_at AT TIME ZONE 'UTC' AS date) AS day, status, count(*) AS number,
  coalesce(sum(value_usd_micros), 0) AS value,
  percentile_disc(0.5) WITHIN GROUP (ORDER BY closed_at - created_at) AS median
FROM swap WHERE app_id = :app_id AND created_at >= :since
GROUP BY day, status
""")


class PostgresFigures:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def of_app(self, app_id: UUID, *, day: datetime, week: datetime) -> Figures:
        """Return the figures of the swaps created since each moment.

        :raises Unavailable: when Postgres is away.
        """
        app = {"app_id": app_id}
        async with reading(self._engine) as connection:
            live, by_status, newest = await connection.ask(
                (LIVE, app), (BY_STATUS, {**app, "day": day, "week": week}), (NEWEST, app)
            )
        rows = [row._asdict() for row in by_status]
        return Figures(
            live={row.status: int(row.number) for row in live},
            day=Period(day, _statuses(rows, "day")),
            week=Period(week, _statuses(rows, "week")),
            newest_at=next((row.created_at for row in newest), None),
        )

    async def by_day(
        self, app_id: UUID, *, since: datetime
    ) -> Mapping[date, Mapping[str, StatusFigures]]:
        """Return the figures of the swaps created on each day; days without one are left out.

        :raises Unavailable: when Postgres is away.
        """
        rows = await read_alone(self._engine, BY_DAY, {"app_id": app_id, "since": since})
        days: dict[date, dict[str, StatusFigures]] = {}
        for row in rows:
            found = StatusFigures(int(row.number), int(row.value), row.median)
            days.setdefault(row.day, {})[row.status] = found
        return days


def _statuses(rows: list[dict[str, Any]], period: str) -> Mapping[str, StatusFigures]:
    return {
        row["status"]: StatusFigures(
            number=int(row[f"number_of_{period}"]),
            value_usd_micros=int(row[f"value_of_{period}"]),
            median=row[f"median_of_{period}"],
        )
        for row in rows
        if row[f"number_of_{period}"]
    }
