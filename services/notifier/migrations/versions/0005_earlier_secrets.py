"""A secret that is rotated twice within a day signs to the end of its day."""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

EARLIER = """
ALTER TABLE endpoint
  ADD COLUMN earlier_secret text,
  ADD COLUMN earlier_secret_until timestamptz,
  ADD CONSTRAINT endpoint_earlier_secret
    CHECK ((earlier_secret IS NULL) = (earlier_secret_until IS NULL))
"""


def upgrade() -> None:
    op.execute(EARLIER)
