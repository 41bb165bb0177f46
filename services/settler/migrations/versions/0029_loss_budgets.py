"""Networks with too many reversed deposits: no payment is sent for deposits from them."""

from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

STOPS = """
CREATE TABLE source_stop (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  network text NOT NULL,
  stopped_at timestamptz NOT NULL DEFAULT now(),
  stopped_because text NOT NULL,
  lifted_at timestamptz,
  lifted_by text,
  lifted_because text,
  CHECK ((lifted_at IS NULL) = (lifted_by IS NULL)
    AND (lifted_at IS NULL) = (lifted_because IS NULL))
);
CREATE UNIQUE INDEX one_source_stop ON source_stop (network) WHERE lifted_at IS NULL;
CREATE INDEX source_stop_past ON source_stop (network, lifted_at);
CREATE INDEX ledger_transaction_losses ON ledger_transaction (at)
  WHERE kind IN ('lost', 'recovered', 'refuel_lost');
CREATE VIEW stopped_source AS SELECT network FROM source_stop WHERE lifted_at IS NULL;
GRANT SELECT ON stopped_source TO api;
"""


def upgrade() -> None:
    op.execute(STOPS)
