"""The log of operators' orders."""

from alembic import op

from swap_runtime.postgres.schema import log_operator_orders

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    log_operator_orders(op)
