-- The tables that every service has, as of the release v0.1.0. They are created in the schema of the
-- role that migrates. Released, so this file does not change: later changes are in `schema.py`.

-- Messages that the service sends. Partitioned by day: rows are not deleted one by one, whole days
-- are dropped once they are read. `xid` orders commits; ids cannot, they are assigned before the
-- commit.
CREATE TABLE outbox (
  id bigint GENERATED ALWAYS AS IDENTITY,
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  message_id uuid NOT NULL,
  topic text NOT NULL,
  key bytea NOT NULL,
  payload bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  published_at timestamptz
) PARTITION BY RANGE (created_at);
CREATE INDEX outbox_waiting ON outbox (id) WHERE published_at IS NULL;
CREATE INDEX outbox_swept ON outbox (topic, xid, id);

-- A row is stored here only if its day has no partition; maintenance moves it and logs that.
CREATE TABLE outbox_default PARTITION OF outbox DEFAULT;

-- Maintenance calls this every hour for the coming days.
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
END $$;

-- The first days: from yesterday to a week ahead.
SELECT make_outbox_partition(day::date) FROM generate_series(
  (now() AT TIME ZONE 'UTC')::date - 1, (now() AT TIME ZONE 'UTC')::date + 7,
  interval '1 day') AS day;

-- Messages that the service has processed. A `released` one was parked, and an operator sends it
-- through its use case again: it counts as not seen.
CREATE TABLE inbox (
  consumer text NOT NULL,
  message_id uuid NOT NULL,
  state text NOT NULL DEFAULT 'done' CHECK (state IN ('done', 'parked', 'released')),
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (consumer, message_id)
);
CREATE INDEX inbox_at ON inbox USING brin (at);

-- How far a consumer has read: every message of the source's outbox up to here, in the order
-- (xid, id), is in the inbox.
CREATE TABLE watermark (
  consumer text NOT NULL,
  source text NOT NULL,
  topic text NOT NULL,
  xid xid8 NOT NULL DEFAULT '0',
  id bigint NOT NULL DEFAULT 0,
  moved_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (consumer, source, topic)
);

-- Messages that could not be processed, and later ones of the same key (`is_behind`).
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
);
CREATE INDEX parked_live ON parked (consumer, topic, key, id)
  WHERE state IN ('parked', 'releasing');

-- Work that one process does at a time. The epoch grows with every change of the holder: a write
-- with an earlier epoch is refused.
CREATE TABLE lease (
  name text PRIMARY KEY,
  holder text NOT NULL,
  epoch bigint NOT NULL,
  expires_at timestamptz NOT NULL
);

-- Other services read the outbox, and the watermarks to know which messages were read. The auditor
-- reads every table, also those that are created later.
DO $$ BEGIN
  EXECUTE format('GRANT USAGE ON SCHEMA %I TO outbox_reader, auditor', current_schema());
  EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO auditor', current_schema());
  EXECUTE format(
    'ALTER DEFAULT PRIVILEGES IN SCHEMA %I GRANT SELECT ON TABLES TO auditor', current_schema());
END $$;
GRANT SELECT ON outbox, watermark TO outbox_reader;
