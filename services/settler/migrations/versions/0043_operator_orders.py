"""The log of operators' orders, and orders that await a second operator."""

from alembic import op

from swap_runtime.postgres.schema import log_operator_orders, store_proposals

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None


def upgrade() -> None:
    log_operator_orders(op)
    store_proposals(op)
