"""Failed payments free their cap; a payment above the Treasury's limit blocks no other one."""

from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

GIVEN_BACK = """
-- What a payment counts under a cap, in which slice: given back when it is proven not to have left.
CREATE TABLE outflow_counted (
  intent_id uuid NOT NULL REFERENCES intent,
  cap_id bigint NOT NULL REFERENCES outflow_cap,
  until timestamptz NOT NULL,
  amount numeric(78,0) NOT NULL,
  PRIMARY KEY (intent_id, cap_id)
);
CREATE INDEX outflow_counted_slices ON outflow_counted (cap_id, until);
"""
TOO_LARGE = """
ALTER TABLE outflow_queue ADD COLUMN is_too_large boolean NOT NULL DEFAULT false;
DROP INDEX outflow_queue_treasury;
CREATE INDEX outflow_queue_treasury ON outflow_queue (network, token, created_at, intent_id)
  WHERE cap_id IS NULL AND NOT is_too_large;
CREATE INDEX outflow_queue_too_large ON outflow_queue (network, token, amount, intent_id)
  WHERE cap_id IS NULL AND is_too_large;
"""


def upgrade() -> None:
    op.execute(GIVEN_BACK)
    op.execute(TOO_LARGE)
