"""Proofs of a recovery, and the holds that remain after its end."""

from alembic import op

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None

# How much evidence was found since it began: what was proven before the last of it is asked again.
EVIDENCE = "ALTER TABLE recovery ADD COLUMN evidence int NOT NULL DEFAULT 0"
# The head of each chain, asked after the recovery began: a watcher has to read up to it.
HEADS = """
CREATE TABLE recovery_head (
  recovery_id bigint NOT NULL REFERENCES recovery,
  network text NOT NULL,
  evidence int NOT NULL, -- of the recovery, when the chain was asked
  number bigint NOT NULL,
  PRIMARY KEY (recovery_id, network)
);
"""
# Nonces of a signer that a forgotten transaction may have: handed out to nothing, from the ledger's
# next one up to `end_nonce`. Each is consumed by a no-op, or by what was forgotten.
FENCES = """
CREATE TABLE recovery_fence (
  recovery_id bigint NOT NULL REFERENCES recovery,
  network text NOT NULL,
  signer text NOT NULL,
  first_nonce bigint NOT NULL,
  end_nonce bigint NOT NULL CHECK (end_nonce >= first_nonce),
  beyond int NOT NULL CHECK (beyond > 0), -- past the last forgotten transaction
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (recovery_id, network, signer),
  FOREIGN KEY (network, signer) REFERENCES signer (network, address)
);
"""
# What the Treasury has paid and the ledger has not: the swap (or the lone payment) that it is of
# stays held. A deposit without a swap stays held where a payment of an unknown swap was found.
RETAINED = """
CREATE TABLE retained_hold (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  recovery_id bigint NOT NULL REFERENCES recovery,
  swap_id uuid REFERENCES swap,
  intent_id uuid REFERENCES intent,
  deposit_id uuid REFERENCES deposit,
  kind text NOT NULL,
  network text NOT NULL,
  paid_id numeric(78,0), -- null: it is not known what paid for the deposit
  since timestamptz NOT NULL DEFAULT now(),
  released_at timestamptz,
  released_by text,
  released_because text,
  CHECK (num_nonnulls(swap_id, intent_id, deposit_id) = 1),
  CHECK (paid_id IS NOT NULL OR deposit_id IS NOT NULL),
  CHECK ((released_at IS NULL) = (released_by IS NULL)
    AND (released_at IS NULL) = (released_because IS NULL))
);
CREATE UNIQUE INDEX retained_once ON retained_hold (swap_id, intent_id, deposit_id, network, paid_id)
  NULLS NOT DISTINCT WHERE released_at IS NULL;
"""
HOLD = """
CREATE OR REPLACE VIEW recovery_hold AS
SELECT CASE WHEN last.is_known THEN coalesce(open.began_at, last.began_at) END AS before,
       CASE WHEN last.is_known AND open.id IS NULL THEN last.uncompared END AS networks,
       open.id AS recovery_id
FROM (SELECT true) AS one
LEFT JOIN LATERAL (
    SELECT booted_at = pg_postmaster_start_time() AND table_id = tableoid::bigint AS is_known,
           began_at, uncompared
    FROM incarnation ORDER BY id DESC LIMIT 1) AS last ON true
LEFT JOIN recovery AS open ON open.ended_at IS NULL
WHERE last.is_known IS NOT TRUE OR open.id IS NOT NULL OR last.uncompared <> '{}'
"""


def upgrade() -> None:
    for statement in (EVIDENCE, HEADS, FENCES, RETAINED, HOLD):
        op.execute(statement)
