"""The number of open deposit addresses, per network and per app of a network."""

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

OPEN = """
CREATE INDEX swap_open_address ON swap (source_network, app_id)
  WHERE is_unpaid AND deposit_address IS NOT NULL
"""


def upgrade() -> None:
    op.execute(OPEN)
