"""The origins of the web pages that may use a publishable key."""

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

ALLOWED_ORIGINS = """
ALTER TABLE api_key ADD COLUMN allowed_origins text[] NOT NULL DEFAULT '{}',
  ADD CONSTRAINT api_key_origins_check CHECK (kind = 'publishable' OR allowed_origins = '{}')
    NOT VALID; -- validated by 0021
"""


def upgrade() -> None:
    op.execute(ALLOWED_ORIGINS)
