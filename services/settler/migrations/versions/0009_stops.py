"""The kill switch: stops of signing with network, operator and reason, and their ends."""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

STOPS = """
CREATE TABLE payout_stop (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  network text NOT NULL, -- '*': all of them
  stopped_at timestamptz NOT NULL DEFAULT now(),
  stopped_by text NOT NULL,
  stopped_because text NOT NULL,
  lifted_at timestamptz,
  lifted_by text,
  lifted_because text,
  CHECK ((lifted_at IS NULL) = (lifted_by IS NULL)
    AND (lifted_at IS NULL) = (lifted_because IS NULL))
);
CREATE UNIQUE INDEX one_stop ON payout_stop (network) WHERE lifted_at IS NULL;
CREATE INDEX payout_stop_past ON payout_stop (network, lifted_at);
"""


def upgrade() -> None:
    op.execute(STOPS)
