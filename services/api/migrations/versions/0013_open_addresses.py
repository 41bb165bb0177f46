"""How many deposit addresses wait for money, of a network and of an app there."""

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
