"""Periods without blocks of a network: the ages of its open transactions stand still meanwhile."""

from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

SILENCES = """
CREATE TABLE network_silence (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  network text NOT NULL,
  began_at timestamptz NOT NULL, -- the time of the last block before it
  ended_at timestamptz,
  CHECK (ended_at >= began_at)
);
CREATE UNIQUE INDEX one_silence ON network_silence (network) WHERE ended_at IS NULL;
CREATE INDEX network_silence_past ON network_silence (network, ended_at);
"""


def upgrade() -> None:
    op.execute(SILENCES)
