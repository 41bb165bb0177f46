"""Networks that are closed to new swaps, as a view that the api reads."""

from alembic import op

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None

# The views of stops contain them too, because an earlier version of the api reads only those.
SHOWN = """
CREATE VIEW closed_network AS SELECT network FROM network_closure WHERE opened_at IS NULL;
GRANT SELECT ON closed_network TO api;
"""


def upgrade() -> None:
    op.execute(SHOWN)
