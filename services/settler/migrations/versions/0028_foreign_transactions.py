"""External transactions that used a signer's nonce, and the operator who named each."""

from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

FOREIGN = """
CREATE TABLE foreign_transaction (
  network text NOT NULL,
  signer text NOT NULL,
  nonce bigint NOT NULL,
  transaction_hash text NOT NULL,
  lost_base_units numeric(78,0) NOT NULL CHECK (lost_base_units >= 0),
  named_by text NOT NULL,
  named_because text NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (network, signer, nonce),
  FOREIGN KEY (network, signer, nonce) REFERENCES nonce_slot
);
"""


def upgrade() -> None:
    op.execute(FOREIGN)
