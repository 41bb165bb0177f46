"""The final block at which a nonce was found consumed, and the report of each node."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# Null for slots closed before this revision; `witnesses` is also null if nothing reverted.
SLOTS = """
ALTER TABLE nonce_slot
  ADD COLUMN final_number bigint,
  ADD COLUMN final_hash text,
  ADD COLUMN witnesses jsonb
"""


def upgrade() -> None:
    op.execute(SLOTS)
