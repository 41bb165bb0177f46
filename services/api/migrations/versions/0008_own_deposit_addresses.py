"""Deposit addresses of the service: they are refused as recipients and as refund addresses."""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

ADDRESSES = """
ALTER TABLE swap ADD COLUMN deposit_address text;
CREATE INDEX swap_deposit_address ON swap (deposit_address) WHERE deposit_address IS NOT NULL;
"""


def upgrade() -> None:
    op.execute(ADDRESSES)
