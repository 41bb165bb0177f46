"""The index of the columns that 0044 adds: it is built under a lock that lets readers work."""

from alembic import op

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("CREATE INDEX intent_reverted ON intent (network, to_address) WHERE reverts > 0")
