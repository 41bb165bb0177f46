"""The indexes of the columns that 0013 adds: they are built under a lock that lets readers work."""

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
CREATE INDEX movement_unverified ON movement (network, block_number)
  WHERE verified_at IS NULL AND providers_required IS NOT NULL AND state IN ('seen', 'confirmed')
""",
    """
CREATE INDEX movement_withheld ON movement (network)
  WHERE withheld_at IS NOT NULL AND state = 'seen'
""",
    """
CREATE INDEX movement_trusted ON movement (network, trusted_at)
  WHERE trusted_at IS NOT NULL AND state = 'confirmed'
""",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
