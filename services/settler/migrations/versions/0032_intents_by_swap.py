"""Indexes of payments: by swap, and of unpaid ones by network."""

from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

# Every message about a swap loads its payments, and the indexes that there were knew only some
# kinds of them: all live ones were read.
STATEMENTS = (
    "CREATE INDEX intent_swap ON intent (swap_id) WHERE swap_id IS NOT NULL",
    """
CREATE INDEX intent_unpaid ON intent (network, created_at)
  WHERE state IN ('reserved', 'assigned', 'broadcast', 'mined') AND kind <> 'sweep'
""",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
