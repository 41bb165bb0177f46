"""The log of requests with API keys."""

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

# An app and a key are not looked up on insert: a reference would lock their rows.
RECORDS = """
CREATE TABLE request_record (
  id uuid PRIMARY KEY,
  app_id uuid NOT NULL,
  key_id uuid NOT NULL,
  request_id text NOT NULL,
  at timestamptz NOT NULL,
  method text NOT NULL,
  route text,
  status int NOT NULL,
  error_code text,
  milliseconds int NOT NULL,
  swap_id uuid,
  body text,
  body_is_cut boolean NOT NULL
);
CREATE INDEX request_record_listed ON request_record (app_id, at DESC, id DESC);
CREATE INDEX request_record_failed ON request_record (app_id, at DESC, id DESC)
  WHERE status >= 400;
CREATE INDEX request_record_request ON request_record (app_id, request_id);
CREATE INDEX request_record_age ON request_record (at);
"""


def upgrade() -> None:
    op.execute(RECORDS)
