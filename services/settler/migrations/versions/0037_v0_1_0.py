"""The schema of v0.1.0, with the revision that the release ended with.

No earlier revision exists (decision 0101).
"""

from pathlib import Path

from alembic import op

from swap_runtime.postgres.schema import create_runtime_tables

revision = "0037"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    create_runtime_tables(op)
    op.execute(Path(__file__).parents[1].joinpath("v0_1_0.sql").read_text())
