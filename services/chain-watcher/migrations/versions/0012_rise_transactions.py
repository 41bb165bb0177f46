"""Rises of coins with a transaction that is not known yet."""

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

UNEXPLAINED = """
CREATE INDEX movement_unexplained ON movement (network, block_number)
  WHERE kind = 'balance_rose' AND transaction_hash IS NULL AND state <> 'reverted'
"""


def upgrade() -> None:
    op.execute(UNEXPLAINED)
