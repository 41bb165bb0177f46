"""Networks that an operator closed to new swaps; the views that the api reads name them too."""

from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None

CLOSURES = """
CREATE TABLE network_closure (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  network text NOT NULL,
  closed_at timestamptz NOT NULL DEFAULT now(),
  closed_by text NOT NULL,
  closed_because text NOT NULL,
  opened_at timestamptz,
  opened_by text,
  opened_because text,
  CHECK ((opened_at IS NULL) = (opened_by IS NULL)
    AND (opened_at IS NULL) = (opened_because IS NULL))
);
CREATE UNIQUE INDEX one_closure ON network_closure (network) WHERE opened_at IS NULL;
CREATE OR REPLACE VIEW stopped_network AS
SELECT network FROM payout_stop WHERE lifted_at IS NULL
UNION SELECT network FROM network_closure WHERE opened_at IS NULL;
CREATE OR REPLACE VIEW stopped_source AS
SELECT network FROM source_stop WHERE lifted_at IS NULL
UNION SELECT network FROM network_closure WHERE opened_at IS NULL;
"""


def upgrade() -> None:
    op.execute(CLOSURES)
