"""At which final block a nonce was found consumed, and what each node said about it."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# Null for what was closed before this was kept; the witnesses, for what did not revert.
SLOTS = """
ALTER TABLE nonce_slot
  ADD COLUMN final_number bigint,
  ADD COLUMN final_hash text,
  ADD COLUMN witnesses jsonb
"""


def upgrade() -> None:
    op.execute(SLOTS)
