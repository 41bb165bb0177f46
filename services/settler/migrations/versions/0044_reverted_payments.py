"""The number of reverts of a payment that was alone in its transaction, and the last proof."""

from alembic import op

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None

STATEMENTS = (
    "ALTER TABLE intent ADD reverts int NOT NULL DEFAULT 0",
    "ALTER TABLE intent ADD reverted_at timestamptz",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
