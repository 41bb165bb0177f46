"""Movements are found by what is asked for first, so that no question reads all of a network's."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

# Led by the network, an index may be taken for any question about the network.
INDEXES = """
DROP INDEX movement_id, movement_told_of;
CREATE INDEX movement_id ON movement (id, network);
CREATE INDEX movement_told_of ON movement (transaction_hash, network)
  WHERE state IS NOT NULL;
"""


def upgrade() -> None:
    op.execute(INDEXES)
