"""How long the swaps of a test app wait for their deposit, where that is said."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

LIFETIMES = """
ALTER TABLE app ADD COLUMN swap_lifetime interval
  CHECK (swap_lifetime IS NULL OR (swap_lifetime > interval '0' AND environment = 'test'))
"""


def upgrade() -> None:
    op.execute(LIFETIMES)
