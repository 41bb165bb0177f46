"""The deposit window of a test app's swaps, if the app sets one."""

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
