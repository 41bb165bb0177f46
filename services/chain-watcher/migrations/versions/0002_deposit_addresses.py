"""Sweeps, balance rises of deposit addresses, and their counting."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# A sweep stays among the service's addresses and is published: the ledger moves with it.
# total_before: what had come to the address before a rise; with what came it identifies the rise.
MOVEMENTS = """
ALTER TABLE movement
  ADD COLUMN total_before numeric(78,0),
  DROP CONSTRAINT movement_kind_check,
  ADD CONSTRAINT movement_kind_check CHECK (kind IN
    ('deposited', 'token_transfer', 'native_received', 'balance_rose', 'swept', 'paid')),
  DROP CONSTRAINT movement_check4,
  ADD CONSTRAINT movement_check4 CHECK
    ((state IS NULL) = (claimed_by IS NOT NULL OR (internal AND kind <> 'swept'))),
  ADD CONSTRAINT movement_rise CHECK ((kind = 'balance_rose') = (total_before IS NOT NULL)),
  ADD CONSTRAINT movement_swept CHECK (kind <> 'swept' OR internal);
-- What ever came to an address, and what was swept from it.
CREATE INDEX movement_of_address ON movement (network, to_address) WHERE kind = 'balance_rose';
CREATE INDEX movement_swept_from ON movement (network, from_address) WHERE kind = 'swept';
"""

# position: in the order in which the follower took them up, under its cursor's lock; null before.
# looked_at: when its coins were last counted.
TARGETS = """
ALTER TABLE deposit_target
  ADD COLUMN position bigint UNIQUE,
  ADD COLUMN looked_at timestamptz NOT NULL DEFAULT now();
CREATE SEQUENCE deposit_target_position;
CREATE INDEX deposit_target_new ON deposit_target (network) WHERE position IS NULL;
CREATE INDEX deposit_target_taken ON deposit_target (network, position);
CREATE INDEX deposit_target_young ON deposit_target (network, since) WHERE position IS NOT NULL;
CREATE INDEX deposit_target_old ON deposit_target (network, looked_at) WHERE position IS NOT NULL;
"""


def upgrade() -> None:
    for part in (MOVEMENTS, TARGETS):
        op.execute(part)
