"""The database's incarnations, and the recovery that holds older payments after a restore."""

from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

# One row per start of the database server, per copy of the database. A restore, a failover or a
# restart makes the newest row differ from the server: nothing is paid until it is registered.
INCARNATIONS = """
CREATE TABLE incarnation (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  system_identifier bigint NOT NULL, -- of the cluster
  timeline int NOT NULL,
  database_id bigint NOT NULL, -- object ids: another copy of the tables has others
  table_id bigint NOT NULL,
  booted_at timestamptz NOT NULL,
  uncompared text[] NOT NULL DEFAULT '{}', -- networks that gave no answer at the start
  began_at timestamptz NOT NULL DEFAULT now()
);
"""
# An empty database has nothing to forget. One with history and no row may be an older backup.
FIRST = """
INSERT INTO incarnation (system_identifier, timeline, database_id, table_id, booted_at)
SELECT (pg_control_system()).system_identifier,
       ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int,
       (SELECT oid::bigint FROM pg_database WHERE datname = current_database()),
       'incarnation'::regclass::oid::bigint, pg_postmaster_start_time()
WHERE NOT EXISTS (SELECT FROM swap) AND NOT EXISTS (SELECT FROM deposit)
    AND NOT EXISTS (SELECT FROM nonce_slot)
"""
RECOVERIES = """
CREATE TABLE recovery (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  cause text NOT NULL CHECK (cause IN ('restored', 'evidence')),
  reason text NOT NULL,
  began_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  ended_by text,
  ended_because text,
  CHECK ((ended_at IS NULL) = (ended_by IS NULL) AND (ended_at IS NULL) = (ended_because IS NULL))
);
CREATE UNIQUE INDEX one_recovery ON recovery ((true)) WHERE ended_at IS NULL;
"""
# What is held now; no row: nothing is. `before` null: everything, for the database is another one
# than was registered. `networks` null: all of them.
HOLD = """
CREATE VIEW recovery_hold AS
SELECT CASE WHEN last.is_known THEN coalesce(open.began_at, last.began_at) END AS before,
       CASE WHEN last.is_known AND open.id IS NULL THEN last.uncompared END AS networks
FROM (SELECT true) AS one
LEFT JOIN LATERAL (
    SELECT booted_at = pg_postmaster_start_time() AND table_id = tableoid::bigint AS is_known,
           began_at, uncompared
    FROM incarnation ORDER BY id DESC LIMIT 1) AS last ON true
LEFT JOIN recovery AS open ON open.ended_at IS NULL
WHERE last.is_known IS NOT TRUE OR open.id IS NOT NULL OR last.uncompared <> '{}'
"""


def upgrade() -> None:
    for statement in (INCARNATIONS, FIRST, RECOVERIES, HOLD):
        op.execute(statement)
