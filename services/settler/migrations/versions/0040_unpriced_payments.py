"""A payment without a price waits at every cap in dollars until an operator lets it pass.

That payment then counts in no cap in dollars. `outflow_queue.amount` is in the units of its cap;
NULL: no price.
"""

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
