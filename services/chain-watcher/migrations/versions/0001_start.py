"""Canonical blocks, cursors, movements, deposit addresses, and their published states."""

from alembic import op

from swap_runtime.postgres.schema import create_runtime_tables

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# Hashes and addresses are text, 0x-prefixed: hashes in lower case, addresses with checksum.
BLOCKS = """
CREATE TABLE chain_block (
  network text NOT NULL,
  hash text NOT NULL,
  number bigint NOT NULL,
  parent_hash text NOT NULL,
  time timestamptz NOT NULL,
  state text NOT NULL CHECK (state IN ('canonical', 'orphan')),
  finalized boolean NOT NULL DEFAULT false,
  PRIMARY KEY (network, hash),
  CHECK (state = 'canonical' OR NOT finalized)
);
CREATE UNIQUE INDEX one_canonical ON chain_block (network, number) WHERE state = 'canonical';
-- What a reorg can still take: a start reads it, and it is all that becomes final.
CREATE INDEX chain_block_changeable ON chain_block (network, number)
  WHERE state = 'canonical' AND NOT finalized;
"""

# start_number: from here to the cursor every block is stored. checked_number: up to here another
# node was asked for the same movements. last_outbox_id: the last message
# that was written no later than this cursor.
CURSORS = """
CREATE TABLE watch_cursor (
  network text PRIMARY KEY,
  number bigint NOT NULL,
  hash text NOT NULL,
  parent_hash text NOT NULL,
  time timestamptz NOT NULL,
  finalized_number bigint NOT NULL,
  start_number bigint NOT NULL,
  checked_number bigint NOT NULL,
  last_outbox_id bigint NOT NULL DEFAULT 0,
  halted_at timestamptz,
  halt_reason text,
  CHECK (start_number <= number AND finalized_number <= number),
  CHECK (checked_number <= finalized_number),
  CHECK ((halted_at IS NULL) = (halt_reason IS NULL))
);
CREATE VIEW progress AS
SELECT network, number AS block_number, time AS block_time, finalized_number AS final_number,
       last_outbox_id
FROM watch_cursor;
"""

# One row per log (or rise of a watched balance) and block: value came into custody, moved inside
# it, or left the Treasury. `state` is what was last published; null where nothing ever is, because
# a Depository log speaks for the receipt or because it stayed among our own addresses.
MOVEMENTS = """
CREATE TABLE movement (
  network text NOT NULL,
  block_hash text NOT NULL,
  id uuid NOT NULL,
  block_number bigint NOT NULL,
  kind text NOT NULL
    CHECK (kind IN ('deposited', 'token_transfer', 'native_received', 'balance_rose', 'paid')),
  transaction_hash text,
  token text NOT NULL,
  from_address text,
  to_address text NOT NULL,
  base_units numeric(78,0) NOT NULL,
  claimed_by uuid,
  internal boolean NOT NULL DEFAULT false,
  paid_id numeric(78,0),
  sequence_number bigint,
  memo text,
  quarantine_reason text,
  version int NOT NULL DEFAULT 0,
  state text CHECK (state IN ('seen', 'confirmed', 'reverted')),
  confirmations_required int,
  waits_for_finality boolean,
  PRIMARY KEY (network, block_hash, id),
  FOREIGN KEY (network, block_hash) REFERENCES chain_block,
  CHECK (transaction_hash IS NOT NULL OR kind = 'balance_rose'),
  CHECK (base_units > 0 OR (kind = 'paid' AND base_units = 0)),
  CHECK ((kind = 'paid') = (paid_id IS NOT NULL)),
  CHECK (claimed_by IS NULL OR kind IN ('token_transfer', 'native_received')),
  CHECK ((state IS NULL) = (claimed_by IS NOT NULL OR internal)),
  CHECK (num_nulls(state, confirmations_required, waits_for_finality) IN (0, 3)),
  CHECK ((state IS NULL) = (version = 0)),
  CHECK (confirmations_required >= 1)
);
-- What was ever published about a deposit, or about an intent whichever transaction paid it.
CREATE INDEX movement_id ON movement (network, id);
CREATE INDEX movement_paid ON movement (network, paid_id) WHERE paid_id IS NOT NULL;
-- What a start reads beside the movements of blocks that can still change.
CREATE INDEX movement_waiting ON movement (network) WHERE state = 'seen';
"""

TARGETS = """
CREATE TABLE deposit_target (
  network text NOT NULL,
  address text NOT NULL,
  since timestamptz NOT NULL,
  PRIMARY KEY (network, address)
);
CREATE INDEX deposit_target_sender ON deposit_target (network, lower(address));
"""

# The only object of this schema that other services read, except the outbox.
GRANTS = """
GRANT USAGE ON SCHEMA chain_watcher TO api, settler;
GRANT SELECT ON progress TO api, settler;
"""


def upgrade() -> None:
    create_runtime_tables(op)
    for part in (BLOCKS, CURSORS, MOVEMENTS, TARGETS, GRANTS):
        op.execute(part)
