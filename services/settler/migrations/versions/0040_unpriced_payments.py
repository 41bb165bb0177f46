"""A payment without a price waits for every cap in dollars and counts nothing in them."""

from alembic import op

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None

STATEMENTS = (
    "ALTER TABLE intent ALTER usd_micros DROP NOT NULL",
    "ALTER TABLE outflow_queue ALTER amount DROP NOT NULL",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
