"""Halts of networks, present and past, as views that other services read."""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

# Ended halts are stored: their durations do not count in the ages of swaps.
PAST = """
CREATE TABLE past_halt (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  network text NOT NULL,
  halted_at timestamptz NOT NULL,
  resumed_at timestamptz NOT NULL,
  reason text NOT NULL
);
CREATE INDEX past_halt_network ON past_halt (network, resumed_at);
CREATE INDEX watch_cursor_halted ON watch_cursor (network) WHERE halted_at IS NOT NULL;
"""
VIEWS = """
CREATE VIEW halted_network AS
SELECT network, halted_at, halt_reason AS reason FROM watch_cursor WHERE halted_at IS NOT NULL;
CREATE VIEW network_halt AS
SELECT network, halted_at AS began_at, CAST(NULL AS timestamptz) AS ended_at FROM watch_cursor
WHERE halted_at IS NOT NULL
UNION ALL
SELECT network, halted_at, resumed_at FROM past_halt;
GRANT SELECT ON halted_network TO api, settler;
GRANT SELECT ON network_halt TO settler;
"""


def upgrade() -> None:
    for part in (PAST, VIEWS):
        op.execute(part)
