"""Deposit addresses, their sweeps, and the sweeps that are due."""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

ADDRESSES = """
CREATE TABLE deposit_address (
  network text NOT NULL,
  address text NOT NULL,
  sequence_number bigint NOT NULL UNIQUE,
  swap_id uuid NOT NULL UNIQUE REFERENCES swap,
  PRIMARY KEY (network, address)
);
"""
# Sweeps that the chain reports, of any sender. Booked once, when final; never reversed.
SWEPT = """
CREATE TABLE swept (
  id uuid PRIMARY KEY,
  version int NOT NULL,
  state text NOT NULL CHECK (state IN ('seen', 'confirmed', 'reverted')),
  is_booked boolean NOT NULL DEFAULT false,
  network text NOT NULL,
  token text NOT NULL,
  from_address text NOT NULL,
  base_units numeric(78,0) NOT NULL CHECK (base_units > 0),
  transaction_hash text NOT NULL,
  block_number bigint NOT NULL,
  block_hash text NOT NULL,
  block_time timestamptz NOT NULL
);
CREATE INDEX swept_unbooked ON swept (network, block_number)
  WHERE state = 'confirmed' AND NOT is_booked;
CREATE INDEX swept_open ON swept (network, from_address, token)
  WHERE state <> 'reverted' AND NOT is_booked;
"""
# One token at one address: its balance in the ledger rose, and no sweep was ordered since.
DUE = """
CREATE TABLE sweep_due (
  network text NOT NULL,
  address text NOT NULL,
  token text NOT NULL,
  due_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (network, address, token)
);
CREATE INDEX sweep_due_next ON sweep_due (network, due_at);
"""
# The addresses that a sweep intent empties; the intent has the progress.
SWEEPS = """
CREATE TABLE sweep (
  intent_id uuid PRIMARY KEY REFERENCES intent,
  network text NOT NULL,
  address text NOT NULL,
  token text NOT NULL,
  sequence_number bigint NOT NULL
);
CREATE INDEX sweep_of_address ON sweep (network, address, token);
CREATE INDEX intent_swept ON intent (network, block_number)
  WHERE kind = 'sweep' AND state = 'mined';
"""


def upgrade() -> None:
    for statements in (ADDRESSES, SWEPT, DUE, SWEEPS):
        op.execute(statements)
