"""Swaps with a final output and an unsent refuel, until they complete without the refuel."""

from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

COMPLETIONS_DUE = """
CREATE TABLE completion_due (
  swap_id uuid PRIMARY KEY REFERENCES swap,
  due_at timestamptz NOT NULL
);
CREATE INDEX completion_due_next ON completion_due (due_at);
"""


def upgrade() -> None:
    op.execute(COMPLETIONS_DUE)
