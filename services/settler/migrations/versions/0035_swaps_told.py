"""The sequence of every swap, as a view: the api compares it with its read model."""

from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None

TOLD = """
CREATE VIEW swap_told AS SELECT id AS swap_id, sequence FROM swap;
GRANT SELECT ON swap_told TO api;
"""


def upgrade() -> None:
    op.execute(TOLD)
