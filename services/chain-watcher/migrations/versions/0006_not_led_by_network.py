"""Indexes of movements start with the searched column, so that no query reads a whole network."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

# The planner could use an index that starts with the network for any query about a network.
INDEXES = """
DROP INDEX movement_id, movement_told_of;
CREATE INDEX movement_id ON movement (id, network);
CREATE INDEX movement_told_of ON movement (transaction_hash, network)
  WHERE state IS NOT NULL;
"""


def upgrade() -> None:
    op.execute(INDEXES)
