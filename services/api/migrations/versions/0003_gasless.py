"""Signature requests of gasless swaps, and the submitted signatures."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# A signer is asked the same until it is worth nothing: then the next issue. `submission` counts the
# signatures of a swap, whoever signed; one is in progress at a time.
SIGN_REQUESTS = """
CREATE TABLE sign_request (
  swap_id uuid NOT NULL,
  signer text NOT NULL,
  issue int NOT NULL CHECK (issue > 0),
  standard text NOT NULL CHECK (standard IN ('eip3009', 'eip2612')),
  nonce numeric(78,0) NOT NULL,
  valid_after bigint NOT NULL,
  valid_before bigint NOT NULL,
  submission int CHECK (submission > 0),
  is_refused boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  submitted_at timestamptz,
  PRIMARY KEY (swap_id, signer, issue)
);
"""
ONE_OF_EACH = """
CREATE UNIQUE INDEX sign_request_submission ON sign_request (swap_id, submission)
  WHERE submission IS NOT NULL
"""


def upgrade() -> None:
    op.execute("ALTER TABLE swap ADD gasless text")
    op.execute(SIGN_REQUESTS)
    op.execute(ONE_OF_EACH)
