"""The past of networks, on Postgres: a few rows a day."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final

from swap_dashboard.domain.status import Incident, StatusDay, Trouble
from swap_runtime.postgres.database import Engine, read_alone, transaction
from swap_runtime.postgres.sql import sql

# Of several replicas that see the same minute, one counts it.
COUNT: Final = sql("""
INSERT INTO status_day AS known (network, day, minutes, bad_minutes, last_minute)
SELECT network, CAST(CAST(:minute AS timestamptz) AT TIME ZONE 'UTC' AS date), 1, bad, :minute
FROM unnest(CAST(:networks AS text[]), CAST(:bad AS int[])) AS seen(network, bad)
ORDER BY network
ON CONFLICT (network, day) DO UPDATE SET
  minutes = known.minutes + 1,
  bad_minutes = known.bad_minutes + excluded.bad_minutes,
  last_minute = excluded.last_minute
WHERE known.last_minute < excluded.last_minute
""")
BEGIN: Final = sql("""
INSERT INTO status_incident (network, kind, began_at)
SELECT network, kind, :at
FROM unnest(CAST(:networks AS text[]), CAST(:kinds AS text[])) AS seen(network, kind)
ORDER BY network, kind
ON CONFLICT (network, kind) WHERE ended_at IS NULL DO NOTHING
""")
# Only of networks that were looked at: without an answer nothing is known to be over.
END: Final = sql("""
UPDATE status_incident SET ended_at = greatest(CAST(:at AS timestamptz), began_at)
WHERE ended_at IS NULL AND network = ANY(CAST(:looked_at AS text[])) AND NOT EXISTS (
  SELECT FROM unnest(CAST(:networks AS text[]), CAST(:kinds AS text[])) AS seen(network, kind)
  WHERE (seen.network, seen.kind) = (status_incident.network, status_incident.kind))
""")
DAYS: Final = sql("""
SELECT network, day, minutes, bad_minutes FROM status_day
WHERE day >= CAST(CAST(:since AS timestamptz) AT TIME ZONE 'UTC' AS date) ORDER BY network, day
""")
INCIDENTS: Final = sql("""
SELECT network, kind, began_at, ended_at FROM status_incident
WHERE ended_at IS NULL OR ended_at >= :since ORDER BY began_at DESC, id DESC LIMIT 100
""")
FORGET_DAYS: Final = sql("""
DELETE FROM status_day
WHERE day < CAST(CAST(:before AS timestamptz) AT TIME ZONE 'UTC' AS date)
""")
FORGET_INCIDENTS: Final = sql("DELETE FROM status_incident WHERE ended_at < :before")


class PostgresStatusHistory:
    """What was seen, stored once a minute by whichever replica comes first."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def record(self, seen: Mapping[str, Collection[Trouble]], at: datetime) -> None:
        """Count the minute, begin incidents that are new, and end those that are over."""
        networks = list(seen)
        pairs = [(name, one.value) for name in networks for one in sorted(seen[name])]
        found = {
            "networks": [name for name, _ in pairs],
            "kinds": [kind for _, kind in pairs],
            "at": at,
        }
        counted = {
            "networks": networks,
            "bad": [1 if seen[name] else 0 for name in networks],
            "minute": at.replace(second=0, microsecond=0),
        }
        async with transaction(self._engine) as connection:
            connection.post(COUNT, counted)
            connection.post(BEGIN, found)
            connection.post(END, {**found, "looked_at": networks})

    async def days(self, since: datetime) -> Sequence[StatusDay]:
        rows = await read_alone(self._engine, DAYS, {"since": since})
        return [StatusDay(r.network, r.day, r.minutes, r.bad_minutes) for r in rows]

    async def incidents(self, since: datetime) -> Sequence[Incident]:
        """Return those that are open or ended since then, the newest first."""
        rows = await read_alone(self._engine, INCIDENTS, {"since": since})
        return [Incident(r.network, Trouble(r.kind), r.began_at, r.ended_at) for r in rows]

    async def forget(self, before: datetime) -> None:
        async with transaction(self._engine) as connection:
            connection.post(FORGET_DAYS, {"before": before})
            connection.post(FORGET_INCIDENTS, {"before": before})
