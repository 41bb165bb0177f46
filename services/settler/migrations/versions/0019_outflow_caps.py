"""Outflow caps of networks, the outflow, and queued payments."""

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

CAPS = """
CREATE TABLE outflow_cap (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  network text NOT NULL,
  token text, -- null: every token, counted in millionths of a dollar
  app_id uuid, -- null: every app
  units numeric(78,0) CHECK (units >= 0), -- null: lifted
  span interval NOT NULL CHECK (span >= '1 second'),
  set_at timestamptz NOT NULL DEFAULT now(),
  set_by text NOT NULL,
  set_because text NOT NULL,
  UNIQUE NULLS NOT DISTINCT (network, token, app_id)
);
-- What left under a cap, in slices of its span; a slice counts until all of it is older.
CREATE TABLE outflow_spent (
  cap_id bigint NOT NULL REFERENCES outflow_cap,
  until timestamptz NOT NULL,
  spent numeric(78,0) NOT NULL CHECK (spent >= 0),
  PRIMARY KEY (cap_id, until)
);
CREATE TABLE outflow_queue (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  intent_id uuid NOT NULL REFERENCES intent,
  cap_id bigint REFERENCES outflow_cap, -- null: the Treasury's own limit of the token
  network text NOT NULL,
  token text NOT NULL,
  created_at timestamptz NOT NULL, -- of the intent: its place in the line
  amount numeric(78,0) NOT NULL, -- as the cap counts
  since timestamptz NOT NULL DEFAULT now(),
  UNIQUE NULLS NOT DISTINCT (intent_id, cap_id)
);
CREATE INDEX outflow_queue_next ON outflow_queue (cap_id, created_at, intent_id);
CREATE INDEX outflow_queue_treasury ON outflow_queue (network, token, created_at, intent_id)
  WHERE cap_id IS NULL;
-- What an operator lets through although a cap is used up.
CREATE TABLE outflow_pass (
  intent_id uuid PRIMARY KEY REFERENCES intent,
  network text NOT NULL,
  passed_at timestamptz NOT NULL DEFAULT now(),
  passed_by text NOT NULL,
  passed_because text NOT NULL,
  is_used boolean NOT NULL DEFAULT false
);
CREATE INDEX outflow_pass_open ON outflow_pass (network) WHERE NOT is_used;
"""


def upgrade() -> None:
    op.execute(CAPS)
