"""Fees owed to apps, and their payments."""

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

# Postgres named the checks, so each is found by its definition.
DROP_OLD = """
DO $$
DECLARE old record;
BEGIN
  FOR old IN SELECT conrelid::regclass AS on_table, conname FROM pg_constraint
    WHERE (conrelid = 'account'::regclass AND (contype = 'u'
        OR contype = 'c' AND pg_get_constraintdef(oid) LIKE '%''refuel_in_flight''%'))
      OR (conrelid = 'intent'::regclass AND contype = 'c'
        AND pg_get_constraintdef(oid) LIKE '%paid_id IS NULL) OR%')
  LOOP
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', old.on_table, old.conname);
  END LOOP;
END $$;
"""
FEES = """
ALTER TABLE account
  ADD COLUMN app_id uuid,
  ADD CONSTRAINT account_kind CHECK (kind IN ('custody', 'equity', 'position', 'fee_income',
    'gas_recovered', 'gas_expense', 'loss', 'payout_suspense', 'swap_liability', 'in_flight',
    'refuel_liability', 'refuel_in_flight', 'suspense', 'claimable', 'partner_fee')),
  ADD CONSTRAINT account_app CHECK (kind <> 'partner_fee' OR app_id IS NOT NULL),
  ADD CONSTRAINT account_identity UNIQUE NULLS NOT DISTINCT
    (kind, network, token, swap_id, deposit_id, address, app_id);
CREATE INDEX account_partner_fee ON account (app_id, network, token) WHERE kind = 'partner_fee';

ALTER TABLE intent
  DROP CONSTRAINT intent_kind,
  DROP CONSTRAINT intent_paid_id,
  ADD COLUMN app_id uuid,
  ADD CONSTRAINT intent_kind CHECK (kind IN
    ('output', 'refuel', 'refund', 'claim', 'sweep', 'gasless', 'cancel', 'partner_fee')),
  ADD CONSTRAINT intent_paid_id CHECK
    ((kind IN ('output', 'refuel', 'refund', 'claim', 'partner_fee')) = (paid_id IS NOT NULL)),
  ADD CONSTRAINT intent_app CHECK ((kind = 'partner_fee') = (app_id IS NOT NULL)),
  ADD CONSTRAINT intent_owner CHECK (paid_id IS NULL OR swap_id IS NOT NULL
    OR deposit_id IS NOT NULL OR app_id IS NOT NULL);
CREATE INDEX intent_partner_fee ON intent (app_id, network, token) WHERE kind = 'partner_fee';
-- The next payment's id follows from what was paid before: there is one at a time.
CREATE UNIQUE INDEX one_live_partner_fee ON intent (app_id, network, token)
  WHERE kind = 'partner_fee' AND state NOT IN ('dead', 'confirmed');
"""


def upgrade() -> None:
    op.execute(DROP_OLD)
    op.execute(FEES)
