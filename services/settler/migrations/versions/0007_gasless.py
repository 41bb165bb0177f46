"""Deposits that users sign: the Paymaster's call as an intent, and its outcome."""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

STATEMENTS = (
    """
ALTER TABLE intent
  ADD payer text,
  ADD call_data bytea,
  ADD not_after timestamptz,
  ADD CHECK ((kind = 'gasless') = (payer IS NOT NULL)),
  ADD CHECK ((kind = 'gasless') = (call_data IS NOT NULL)),
  ADD CHECK ((kind = 'gasless') = (not_after IS NOT NULL))
""",
    """
CREATE UNIQUE INDEX one_live_relay ON intent (swap_id) WHERE kind = 'gasless' AND state <> 'dead'
""",
    """
CREATE INDEX relay_lapsing ON intent (not_after)
  WHERE kind = 'gasless' AND state IN ('reserved', 'assigned')
""",
    "CREATE INDEX relay_reverted ON intent (payer) WHERE kind = 'gasless' AND state = 'dead'",
    """
CREATE TABLE gasless_authorization (
  swap_id uuid NOT NULL REFERENCES swap,
  submission int NOT NULL,
  intent_id uuid UNIQUE REFERENCES intent, -- null: refused at once
  standard text NOT NULL CHECK (standard IN ('eip3009', 'eip2612')),
  signer text NOT NULL,
  base_units numeric(78,0) NOT NULL CHECK (base_units > 0),
  nonce text NOT NULL,
  valid_after bigint NOT NULL,
  valid_before bigint NOT NULL,
  status text NOT NULL CHECK (status IN
    ('Initiated', 'Published', 'Completed', 'Expired', 'Insufficient', 'Rejected')),
  detail text,
  transaction_hash text, -- of what deposits it, once that was sent
  submitted_at timestamptz NOT NULL,
  PRIMARY KEY (swap_id, submission)
)
""",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)
