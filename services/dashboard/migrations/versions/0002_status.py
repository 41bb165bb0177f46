"""The history on the status page: days of networks, and incidents."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# Checked minutes, and how many of them were bad. One row per network and day.
DAY = """
CREATE TABLE status_day (
  network text NOT NULL,
  day date NOT NULL,
  minutes int NOT NULL CHECK (minutes >= 0),
  bad_minutes int NOT NULL CHECK (bad_minutes BETWEEN 0 AND minutes),
  last_minute timestamptz NOT NULL,
  PRIMARY KEY (network, day)
)
"""
INCIDENT = """
CREATE TABLE status_incident (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  network text NOT NULL,
  kind text NOT NULL,
  began_at timestamptz NOT NULL,
  ended_at timestamptz CHECK (ended_at >= began_at)
)
"""
OPEN_INCIDENT = """
CREATE UNIQUE INDEX status_incident_open ON status_incident (network, kind) WHERE ended_at IS NULL
"""
RECENT_INCIDENT = "CREATE INDEX status_incident_began ON status_incident (began_at)"


def upgrade() -> None:
    for statement in (DAY, INCIDENT, OPEN_INCIDENT, RECENT_INCIDENT):
        op.execute(statement)
