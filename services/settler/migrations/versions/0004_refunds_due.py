"""Legs with a refund due; its amount follows when the chain has reported the gas price."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

REFUNDS_DUE = """
CREATE TABLE refund_due (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  network text NOT NULL,
  swap_id uuid NOT NULL REFERENCES swap,
  deposit_id uuid REFERENCES deposit, -- null: the swap's main leg
  due_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE NULLS NOT DISTINCT (swap_id, deposit_id)
);
CREATE INDEX refund_due_next ON refund_due (network, due_at, id);
"""


def upgrade() -> None:
    op.execute(REFUNDS_DUE)
