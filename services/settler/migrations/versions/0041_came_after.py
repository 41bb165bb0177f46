"""For a rise of coins that was found late: a time before all of its possible transactions."""

from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE deposit ADD COLUMN came_after timestamptz")
