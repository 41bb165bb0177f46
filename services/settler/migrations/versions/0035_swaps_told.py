"""How far every swap is, as a view by which the api knows what it has not heard of yet."""

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
