"""The sites that may show the pay pages of an app in a frame."""

from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

FRAME_ORIGINS = "ALTER TABLE app ADD COLUMN frame_origins text[] NOT NULL DEFAULT '{}'"


def upgrade() -> None:
    op.execute(FRAME_ORIGINS)
