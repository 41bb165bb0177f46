"""The tables of every service: sent, received and parked messages, and leases.

The first migration of a service makes them. They are plain SQL, as the migrations are.
"""

from __future__ import annotations

from typing import Final, Protocol


class Operations(Protocol):
    """The part of Alembic's `op` that this module uses."""

    def execute(self, sqltext: str) -> object: ...


DAYS_AHEAD: Final = 7
FIRST_XID: Final = "3"  # Postgres hands it out before all others; a restored dump's rows get it

# Partitioned by day and never deleted from row by row: days are dropped when they are read.
# `xid` orders commits where `id` cannot: ids are handed out before commit.
OUTBOX: Final = (
    """
CREATE TABLE outbox (
  id bigint GENERATED ALWAYS AS IDENTITY,
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  message_id uuid NOT NULL,
  topic text NOT NULL,
  key bytea NOT NULL,
  payload bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  published_at timestamptz
) PARTITION BY RANGE (created_at)
""",
    "CREATE INDEX outbox_waiting ON outbox (id) WHERE published_at IS NULL",
    "CREATE INDEX outbox_swept ON outbox (topic, xid, id)",
    # A row is stored here only without a partition for its day; maintenance moves it and logs that.
    "CREATE TABLE outbox_default PARTITION OF outbox DEFAULT",
    # Called by maintenance every hour, and here for the first days.
    """
CREATE FUNCTION make_outbox_partition(day date) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  part text := 'outbox_' || to_char(day, 'YYYYMMDD');
  starts timestamptz := day::timestamp AT TIME ZONE 'UTC';
  ends timestamptz := (day + 1)::timestamp AT TIME ZONE 'UTC';
BEGIN
  IF to_regclass(quote_ident(current_schema()) || '.' || part) IS NOT NULL THEN
    RETURN false;
  END IF;
  EXECUTE format('CREATE TABLE %I (LIKE outbox INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', part);
  LOCK TABLE outbox_default IN ACCESS EXCLUSIVE MODE;
  EXECUTE format(
    'WITH moved AS (DELETE FROM outbox_default WHERE created_at >= %L AND created_at < %L '
    'RETURNING *) INSERT INTO %I SELECT * FROM moved', starts, ends, part);
  EXECUTE format(
    'ALTER TABLE outbox ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', part, starts, ends);
  RETURN true;
END $$
""",
    f"""
SELECT make_outbox_partition(day::date) FROM generate_series(
  (now() AT TIME ZONE 'UTC')::date - 1, (now() AT TIME ZONE 'UTC')::date + {DAYS_AHEAD},
  interval '1 day') AS day
""",
    # A hint for the relay, once per statement; the poll is what makes it certain.
    """
CREATE FUNCTION notify_outbox() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('outbox_' || TG_TABLE_SCHEMA, '');
  RETURN NULL;
END $$
""",
    """
CREATE TRIGGER outbox_written AFTER INSERT ON outbox
FOR EACH STATEMENT EXECUTE FUNCTION notify_outbox()
""",
)

# `released` is a parked message on its way back through its use case: it counts as not seen.
INBOX: Final = (
    """
CREATE TABLE inbox (
  consumer text NOT NULL,
  message_id uuid NOT NULL,
  state text NOT NULL DEFAULT 'done' CHECK (state IN ('done', 'parked', 'released')),
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (consumer, message_id)
)
""",
    "CREATE INDEX inbox_at ON inbox USING brin (at)",
)

# Everything of the source's outbox up to here, in the order (xid, id), is in the inbox.
WATERMARK: Final = (
    """
CREATE TABLE watermark (
  consumer text NOT NULL,
  source text NOT NULL,
  topic text NOT NULL,
  xid xid8 NOT NULL DEFAULT '0',
  id bigint NOT NULL DEFAULT 0,
  moved_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (consumer, source, topic)
)
""",
)

PARKED: Final = (
    """
CREATE TABLE parked (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  consumer text NOT NULL,
  topic text NOT NULL,
  key bytea NOT NULL,
  value bytea NOT NULL,
  partition int NOT NULL,
  "offset" bigint NOT NULL,
  message_id uuid NOT NULL,
  reason text NOT NULL,
  is_behind boolean NOT NULL,
  state text NOT NULL DEFAULT 'parked' 
    CHECK (state IN ('parked', 'releasing', 'released', 'dropped')),
  parked_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  UNIQUE (consumer, message_id)
)
""",
    """
CREATE INDEX parked_live ON parked (consumer, topic, key, id)
WHERE state IN ('parked', 'releasing')
""",
)

# The epoch grows with every change of the holder: a write with an old one is refused.
LEASE: Final = (
    """
CREATE TABLE lease (
  name text PRIMARY KEY,
  holder text NOT NULL,
  epoch bigint NOT NULL,
  expires_at timestamptz NOT NULL
)
""",
)

# Other services sweep the outbox, and say in their watermarks how far they are.
GRANTS: Final = (
    """
DO $$ BEGIN
  EXECUTE format('GRANT USAGE ON SCHEMA %I TO outbox_reader, auditor', current_schema());
  EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO auditor', current_schema());
  EXECUTE format(
    'ALTER DEFAULT PRIVILEGES IN SCHEMA %I GRANT SELECT ON TABLES TO auditor', current_schema());
END $$
""",
    "GRANT SELECT ON outbox, watermark TO outbox_reader",
)


def create_runtime_tables(op: Operations) -> None:
    """Make the shared tables in the schema of the role that migrates."""
    for part in (OUTBOX, INBOX, WATERMARK, PARKED, LEASE, GRANTS):
        for statement in part:
            op.execute(statement)


def drop_outbox_trigger(op: Operations) -> None:
    """Remove the outbox's notifications: writers wake the relay after the commit (`wake.py`)."""
    op.execute("DROP TRIGGER outbox_written ON outbox")
    op.execute("DROP FUNCTION notify_outbox()")


# What Kafka brought and its sender's outbox does not hold is shown with what is parked, and is no
# message of its key. `claimed_id` and `outbox_id` are what its headers say.
UNVERIFIED: Final = (
    "ALTER TABLE parked ADD COLUMN claimed_id uuid, ADD COLUMN outbox_id bigint",
    "ALTER TABLE parked DROP CONSTRAINT parked_state_check",
    """
ALTER TABLE parked ADD CONSTRAINT parked_state_check
CHECK (state IN ('parked', 'releasing', 'released', 'dropped', 'unverified'))
""",
    "CREATE INDEX parked_unverified ON parked (consumer, topic) WHERE state = 'unverified'",
)


def verify_messages(op: Operations) -> None:
    """Let the service keep messages from Kafka that their sender's outbox does not hold."""
    for statement in UNVERIFIED:
        op.execute(statement)


# Who ordered what, in the transaction of the order. Rows are only added.
OPERATOR_ORDERS: Final = (
    """
CREATE TABLE operator_order (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  order_id uuid NOT NULL, -- of one request
  at timestamptz NOT NULL DEFAULT now(),
  operator text NOT NULL, -- by the token
  role text NOT NULL,
  action text NOT NULL,
  parameters jsonb NOT NULL,
  reason text,
  outcome text NOT NULL CHECK (outcome IN ('done', 'refused', 'proposed', 'failed')),
  detail text,
  proposal_id uuid
)
""",
    """
CREATE FUNCTION refuse_operator_order_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the log of operators'' orders is only added to';
END $$
""",
    """
CREATE TRIGGER operator_order_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON operator_order
FOR EACH STATEMENT EXECUTE FUNCTION refuse_operator_order_change()
""",
)
# An order that awaits a second operator. The operator who ordered it cannot approve it.
OPERATOR_PROPOSALS: Final = (
    """
CREATE TABLE operator_proposal (
  id uuid PRIMARY KEY,
  action text NOT NULL,
  target jsonb NOT NULL,
  body text NOT NULL,
  why text NOT NULL,
  reason text,
  proposed_by text NOT NULL,
  proposed_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  ended_by text,
  ended_at timestamptz,
  outcome text CHECK (outcome IN ('approved', 'rejected')),
  CHECK ((outcome IS NULL) = (ended_by IS NULL) AND (outcome IS NULL) = (ended_at IS NULL)),
  CHECK (outcome <> 'approved' OR ended_by <> proposed_by)
)
""",
    "CREATE INDEX operator_proposal_open ON operator_proposal (proposed_at, id) "
    "WHERE ended_at IS NULL",
)


def log_operator_orders(op: Operations) -> None:
    """Make the log of what operators order in this service."""
    for statement in OPERATOR_ORDERS:
        op.execute(statement)


def store_proposals(op: Operations) -> None:
    """Let orders of this service wait for a second operator."""
    for statement in OPERATOR_PROPOSALS:
        op.execute(statement)
