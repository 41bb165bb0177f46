"""Deposits without a memo and the proofs that attach them; partners see unattached ones."""

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

ATTACHED = """
ALTER TABLE deposit
  ADD COLUMN attached_at timestamptz,
  ADD COLUMN attached_by text,
  ADD COLUMN attached_because text,
  ADD CONSTRAINT deposit_attached CHECK (attached_at IS NULL OR swap_id IS NOT NULL);
CREATE INDEX deposit_of_nobody ON deposit (transaction_hash)
  WHERE swap_id IS NULL OR attached_at IS NOT NULL;

-- What came to a Treasury by a transfer that named no swap. Its sender owned it.
CREATE VIEW lone_transfer AS
SELECT deposit.id AS deposit_id, network, transaction_hash, token, base_units, from_address,
       to_address, swap_id,
       swap_id IS NULL AND state IN ('seen', 'credited') AND NOT EXISTS (
         SELECT FROM intent WHERE intent.deposit_id = deposit.id AND intent.kind = 'claim'
           AND intent.state <> 'dead') AS is_free
FROM deposit
WHERE (swap_id IS NULL OR attached_at IS NOT NULL)
  AND method = 'direct' AND quarantine_reason IS NULL AND state <> 'reverted'
  AND from_address IS NOT NULL;
-- What a swap takes: the api keeps it only as it is shown.
CREATE VIEW swap_source AS SELECT id AS swap_id, source_network, source_token FROM swap;
GRANT SELECT ON lone_transfer, swap_source TO api;
"""


def upgrade() -> None:
    op.execute(ATTACHED)
