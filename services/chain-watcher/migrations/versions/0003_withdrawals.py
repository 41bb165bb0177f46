"""Withdrawals by the Treasury's owner are published: the ledger moves with them."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

MOVEMENTS = """
ALTER TABLE movement
  DROP CONSTRAINT movement_kind_check,
  ADD CONSTRAINT movement_kind_check CHECK (kind IN ('deposited', 'token_transfer',
    'native_received', 'balance_rose', 'swept', 'paid', 'withdrawn')),
  DROP CONSTRAINT movement_check4,
  ADD CONSTRAINT movement_check4 CHECK ((state IS NULL)
    = (claimed_by IS NOT NULL OR (internal AND kind NOT IN ('swept', 'withdrawn')))),
  DROP CONSTRAINT movement_swept,
  ADD CONSTRAINT movement_not_deposit CHECK (kind NOT IN ('swept', 'withdrawn') OR internal);
"""


def upgrade() -> None:
    op.execute(MOVEMENTS)
