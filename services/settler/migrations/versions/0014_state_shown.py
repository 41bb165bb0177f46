"""The public part of a network's state, as a view that the api reads."""

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

REPORT = """
CREATE TABLE stuck_report (
  network text PRIMARY KEY, -- the swaps' source
  stuck int NOT NULL CHECK (stuck >= 0),
  at timestamptz NOT NULL
);
CREATE VIEW network_state AS
SELECT asset.network, count(*) AS tokens,
       count(*) FILTER (WHERE held_base_units > owed_base_units) AS payable_tokens,
       (SELECT stuck FROM stuck_report AS report WHERE report.network = asset.network) AS stuck,
       EXISTS (SELECT FROM payout_stop AS stop
         WHERE stop.network IN (asset.network, '*') AND stop.lifted_at IS NULL)
       OR EXISTS (SELECT FROM signer
         WHERE signer.network = asset.network AND signer.halted_reason IS NOT NULL) AS is_stopped
FROM inventory AS asset GROUP BY asset.network;
GRANT SELECT ON network_state TO api;
"""


def upgrade() -> None:
    op.execute(REPORT)
