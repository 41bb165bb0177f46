"""An attempt stores both sides' headers and the receiver's body; an endpoint its first delivery."""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

ATTEMPT = """
ALTER TABLE delivery_attempt
  ADD COLUMN request_headers jsonb,
  ADD COLUMN response_headers jsonb,
  ADD COLUMN response_body text,
  ADD COLUMN response_body_is_cut boolean NOT NULL DEFAULT false
"""
FIRST_DELIVERY = "ALTER TABLE endpoint ADD COLUMN first_delivered_at timestamptz"


def upgrade() -> None:
    op.execute(ATTEMPT)
    op.execute(FIRST_DELIVERY)
