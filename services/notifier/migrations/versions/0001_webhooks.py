"""Endpoints, webhook messages, delivery attempts."""

from alembic import op

from swap_runtime.postgres.schema import create_runtime_tables

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ENDPOINT = """
CREATE TABLE endpoint (
  id uuid PRIMARY KEY,
  app_id uuid NOT NULL,
  url text NOT NULL,
  environment text NOT NULL CHECK (environment IN ('live', 'test')),
  wants_updates boolean NOT NULL,
  secret text NOT NULL,
  previous_secret text,
  previous_secret_until timestamptz,
  created_at timestamptz NOT NULL,
  enabled_from timestamptz NOT NULL,
  disabled_at timestamptz,
  disabled_reason text CHECK (disabled_reason IN ('operator', 'gone', 'failing')),
  failing_since timestamptz,
  CHECK ((previous_secret IS NULL) = (previous_secret_until IS NULL)),
  CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL))
)
"""
ENDPOINT_OF_APP = "CREATE INDEX endpoint_of_app ON endpoint (app_id)"

# The body is written once; what changes is small and beside it. A message that is being sent is
# still waiting: its due_at is when somebody else may take it over.
MESSAGE = """
CREATE TABLE webhook_message (
  id text PRIMARY KEY,
  swap_id uuid NOT NULL,
  endpoint_id uuid NOT NULL REFERENCES endpoint,
  sequence int NOT NULL,
  app_id uuid NOT NULL,
  event_type text NOT NULL,
  body bytea NOT NULL,
  state text NOT NULL CHECK (state IN ('waiting', 'delivered', 'failed', 'discarded')),
  attempts int NOT NULL,
  due_at timestamptz NOT NULL,
  claim uuid,
  created_at timestamptz NOT NULL,
  ended_at timestamptz,
  UNIQUE (swap_id, endpoint_id, sequence),
  CHECK ((state = 'waiting') = (ended_at IS NULL))
)
"""
MESSAGE_DUE = """
CREATE INDEX webhook_message_due ON webhook_message (endpoint_id, due_at) WHERE state = 'waiting'
"""
MESSAGE_ENDED = """
CREATE INDEX webhook_message_ended ON webhook_message (ended_at) WHERE ended_at IS NOT NULL
"""
ATTEMPT = """
CREATE TABLE delivery_attempt (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  message_id text NOT NULL REFERENCES webhook_message ON DELETE CASCADE,
  attempt int NOT NULL,
  at timestamptz NOT NULL,
  milliseconds int NOT NULL,
  http_status int,
  error text
)
"""
ATTEMPT_OF_MESSAGE = "CREATE INDEX delivery_attempt_of_message ON delivery_attempt (message_id)"


def upgrade() -> None:
    create_runtime_tables(op)
    for statement in (
        ENDPOINT,
        ENDPOINT_OF_APP,
        MESSAGE,
        MESSAGE_DUE,
        MESSAGE_ENDED,
        ATTEMPT,
        ATTEMPT_OF_MESSAGE,
    ):
        op.execute(statement)
