"""Partners and their keys, idempotency keys, and the read model of swaps."""

from alembic import op

from swap_runtime.postgres.schema import create_runtime_tables

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

PARTNERS = """
CREATE TABLE partner (
  id uuid PRIMARY KEY,
  name text NOT NULL CHECK (name <> ''),
  created_at timestamptz NOT NULL
);

-- What an app is allowed a minute; null: as the deployment's settings say.
CREATE TABLE app (
  id uuid PRIMARY KEY,
  partner_id uuid NOT NULL REFERENCES partner,
  name text NOT NULL CHECK (name <> ''),
  environment text NOT NULL CHECK (environment IN ('live', 'test')),
  reads_per_minute int CHECK (reads_per_minute > 0),
  prices_per_minute int CHECK (prices_per_minute > 0),
  creates_per_minute int CHECK (creates_per_minute > 0),
  ceiling_factor int CHECK (ceiling_factor > 0),
  pending_swaps_max int CHECK (pending_swaps_max > 0),
  limits_lifted boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL
);
CREATE INDEX app_partner ON app (partner_id);

-- The key itself is nowhere: only its keyed hash, and what its owner may recognise it by.
CREATE TABLE api_key (
  id uuid PRIMARY KEY,
  app_id uuid NOT NULL REFERENCES app,
  kind text NOT NULL CHECK (kind IN ('secret', 'publishable')),
  hash bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
  last_four text NOT NULL CHECK (length(last_four) = 4),
  created_at timestamptz NOT NULL,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz
);
CREATE INDEX api_key_app ON api_key (app_id);
"""

# `claim` is who works on it; the answer comes with the swap, in one transaction. A claim that runs
# out without an answer left nothing behind, and the next one may have it.
IDEMPOTENCY = """
CREATE TABLE idempotency (
  app_id uuid NOT NULL,
  key text NOT NULL,
  body_hash bytea NOT NULL,
  claim uuid NOT NULL,
  claimed_until timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  swap_id uuid,
  answer bytea,
  PRIMARY KEY (app_id, key),
  CHECK ((swap_id IS NULL) = (answer IS NULL))
);
CREATE INDEX idempotency_age ON idempotency (created_at);
"""

# One row answers one read. `document` is the rendered answer with gaps where the confirmations of
# transactions that are not final go (`gaps` says which block each waits on) and where the deposit
# action goes. Addresses are in lower case here, for matching. An app is not looked up on insert:
# a reference would lock its row.
SWAPS = """
CREATE TABLE swap (
  id uuid PRIMARY KEY,
  app_id uuid NOT NULL,
  sequence_number bigint NOT NULL UNIQUE CHECK (sequence_number BETWEEN 1 AND 9007199254740991),
  sequence int NOT NULL CHECK (sequence >= 0),
  status text NOT NULL,
  client text,
  is_unpaid boolean NOT NULL,
  source_network text NOT NULL,
  destination_network text NOT NULL,
  source_address text,
  destination_address text NOT NULL,
  refund_address text,
  reference_id text,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  document bytea NOT NULL,
  gaps text,
  action bytea,
  step_status text NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX swap_listed ON swap (app_id, created_at DESC, id DESC);
CREATE INDEX swap_destination ON swap (app_id, destination_address, created_at DESC, id DESC);
CREATE INDEX swap_source ON swap (app_id, source_address, created_at DESC, id DESC)
  WHERE source_address IS NOT NULL;
CREATE INDEX swap_refund ON swap (app_id, refund_address, created_at DESC, id DESC)
  WHERE refund_address IS NOT NULL;
CREATE INDEX swap_reference ON swap (app_id, reference_id, created_at DESC, id DESC)
  WHERE reference_id IS NOT NULL;
-- How many swaps of a caller wait for money; `client` is null for secret keys.
CREATE INDEX swap_unpaid ON swap (app_id, client) WHERE is_unpaid;

-- One transaction may belong to several swaps: payouts go out in batches.
CREATE TABLE transaction_hash (
  app_id uuid NOT NULL,
  hash text NOT NULL,
  swap_id uuid NOT NULL,
  PRIMARY KEY (app_id, hash, swap_id)
);
"""


def upgrade() -> None:
    create_runtime_tables(op)
    for part in (PARTNERS, IDEMPOTENCY, SWAPS):
        op.execute(part)
