"""The index of 0010 begins with the only column of this one, so this one is dropped.

A revision of its own: a transaction that held the lock of 0010 would wait for readers to drop it.
"""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("DROP INDEX delivery_attempt_of_message")
