"""Claimable balances, paid by an operator's order."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

# Postgres named the checks, so each is found by its definition.
CHECKS = """
DO $$
DECLARE old record;
BEGIN
  FOR old IN SELECT conname FROM pg_constraint
    WHERE conrelid = 'intent'::regclass AND contype = 'c' AND (
      pg_get_constraintdef(oid) LIKE '%''sweep''%'
      OR pg_get_constraintdef(oid) LIKE '%paid_id IS NOT NULL%'
      OR pg_get_constraintdef(oid) LIKE '%deposit_id IS NULL) OR (kind%')
  LOOP
    EXECUTE format('ALTER TABLE intent DROP CONSTRAINT %I', old.conname);
  END LOOP;
END $$;
"""
CLAIMS = """
ALTER TABLE intent
  ADD COLUMN ordered_by text,
  ADD COLUMN ordered_because text,
  ADD CONSTRAINT intent_kind CHECK (kind IN
    ('output', 'refuel', 'refund', 'claim', 'sweep', 'gasless', 'cancel')),
  ADD CONSTRAINT intent_paid_id CHECK
    ((kind IN ('output', 'refuel', 'refund', 'claim')) = (paid_id IS NOT NULL)),
  ADD CONSTRAINT intent_leg CHECK (deposit_id IS NULL OR kind IN ('refund', 'claim')),
  ADD CONSTRAINT intent_order CHECK ((ordered_by IS NULL) = (ordered_because IS NULL));
-- A balance is a leg in one asset; it is paid once at a time, and once for ever.
CREATE UNIQUE INDEX one_live_claim ON intent (deposit_id, swap_id, network, token)
  NULLS NOT DISTINCT WHERE state <> 'dead' AND kind = 'claim';
"""


def upgrade() -> None:
    op.execute(CHECKS)
    op.execute(CLAIMS)
