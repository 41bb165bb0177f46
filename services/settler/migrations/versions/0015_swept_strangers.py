"""Sweeps of addresses without a swap: the moved money has no swap yet."""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

SWEPT = """
ALTER TABLE swept ADD COLUMN is_nobodys boolean NOT NULL DEFAULT false;
CREATE INDEX swept_nobodys ON swept (network, from_address) WHERE is_nobodys;
"""


def upgrade() -> None:
    op.execute(SWEPT)
