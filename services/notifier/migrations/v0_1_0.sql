-- The notifier's tables as of the release v0.1.0, after those of the runtime. Released, so this file
-- does not change: later changes are revisions.

-- Where an app receives webhooks. A disabled endpoint records who or what disabled it; a removed one
-- is disabled, and nothing is sent, stored or listed for it.
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
  disabled_reason text CHECK (disabled_reason IN ('operator', 'owner', 'gone', 'failing')),
  failing_since timestamptz,
  wants_notices boolean NOT NULL DEFAULT false,
  removed_at timestamptz,
  -- A secret that is rotated twice within a day signs until the end of its day.
  earlier_secret text,
  earlier_secret_until timestamptz,
  CHECK ((previous_secret IS NULL) = (previous_secret_until IS NULL)),
  CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL)),
  CONSTRAINT endpoint_removed CHECK (removed_at IS NULL OR disabled_at IS NOT NULL),
  CONSTRAINT endpoint_earlier_secret
    CHECK ((earlier_secret IS NULL) = (earlier_secret_until IS NULL))
);
CREATE INDEX endpoint_of_app ON endpoint (app_id);

-- The body is written once; the columns that change are small. A message that is being sent still
-- waits: at `due_at` another process may take it over. Notices are about no swap.
CREATE TABLE webhook_message (
  id text PRIMARY KEY,
  swap_id uuid,
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
);
CREATE INDEX webhook_message_due ON webhook_message (endpoint_id, due_at) WHERE state = 'waiting';
-- An endpoint's ended messages: for lists, replays and deletion. One index serves all three, because
-- every delivery writes to every index.
CREATE INDEX webhook_message_ended ON webhook_message (endpoint_id, ended_at)
  WHERE ended_at IS NOT NULL;

CREATE TABLE delivery_attempt (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  message_id text NOT NULL REFERENCES webhook_message ON DELETE CASCADE,
  attempt int NOT NULL,
  at timestamptz NOT NULL,
  milliseconds int NOT NULL,
  http_status int,
  error text
);
CREATE INDEX delivery_attempt_of_message ON delivery_attempt (message_id);
