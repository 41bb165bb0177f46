"""An index of ledger transactions by swap, for operators who trace its money."""

from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

STATEMENT = """
CREATE INDEX ledger_transaction_swap ON ledger_transaction (swap_id) WHERE swap_id IS NOT NULL
"""


def upgrade() -> None:
    op.execute(STATEMENT)
