"""Stops of signing, as a view that the api reads."""

from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

STOPPED = """
CREATE VIEW stopped_network AS SELECT network FROM payout_stop WHERE lifted_at IS NULL;
GRANT SELECT ON stopped_network TO api;
"""


def upgrade() -> None:
    op.execute(STOPPED)
