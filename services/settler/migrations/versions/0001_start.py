"""Swaps, deposits, the ledger and payments."""

from alembic import op

from swap_runtime.postgres.schema import create_runtime_tables

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

SWAPS = """
CREATE TABLE swap (
  id uuid PRIMARY KEY,
  app_id uuid NOT NULL,
  sequence_number bigint NOT NULL UNIQUE,
  match_key text NOT NULL UNIQUE,
  sequence int NOT NULL CHECK (sequence > 0),
  status text NOT NULL CHECK (status IN ('user_transfer_pending', 'ls_transfer_pending',
    'completed', 'failed', 'expired', 'pending_refund', 'refunded')),
  method text NOT NULL CHECK (method IN ('direct', 'deposit_address', 'depository', 'gasless')),
  source_network text NOT NULL,
  source_token text NOT NULL,
  source_decimals int NOT NULL,
  destination_network text NOT NULL,
  destination_token text NOT NULL,
  destination_decimals int NOT NULL,
  source_address text,
  destination_address text NOT NULL,
  refund_address text,
  reference_id text,
  requested_base_units numeric(78,0) NOT NULL CHECK (requested_base_units >= 0),
  payout_base_units numeric(78,0) NOT NULL CHECK (payout_base_units >= 0),
  fee_base_units numeric(78,0) NOT NULL CHECK (fee_base_units >= 0),
  quote jsonb NOT NULL,
  quote_revision int NOT NULL DEFAULT 0,
  quote_expires_at timestamptz NOT NULL,
  last_requoted_at timestamptz,
  quote_locked_at timestamptz,
  fail_reason text,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  changed_at timestamptz NOT NULL,
  closed_at timestamptz,
  trace_id text NOT NULL
);
-- What the expiry sweep asks; nothing scans history.
CREATE INDEX swap_expiring ON swap (source_network, expires_at)
  WHERE status = 'user_transfer_pending';

CREATE TABLE swap_transition (
  swap_id uuid NOT NULL REFERENCES swap,
  sequence int NOT NULL CHECK (sequence > 0),
  from_status text,
  to_status text NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (swap_id, sequence)
);
"""

DEPOSITS = """
CREATE TABLE deposit (
  id uuid PRIMARY KEY,
  swap_id uuid REFERENCES swap,
  match_key text,
  version int NOT NULL,
  state text NOT NULL CHECK (state IN ('seen', 'credited', 'reverted', 'quarantined')),
  method text NOT NULL
    CHECK (method IN ('direct', 'deposit_address', 'depository', 'gasless', 'funding')),
  network text NOT NULL,
  token text NOT NULL,
  base_units numeric(78,0) NOT NULL CHECK (base_units > 0),
  returned_base_units numeric(78,0) NOT NULL DEFAULT 0
    CHECK (returned_base_units BETWEEN 0 AND base_units),
  is_booked boolean NOT NULL DEFAULT false, -- its value stands in the ledger
  transaction_hash text,
  block_number bigint NOT NULL,
  block_hash text NOT NULL,
  block_time timestamptz NOT NULL,
  from_address text,
  to_address text NOT NULL,
  confirmations_required int NOT NULL,
  sequence_number bigint,
  memo text,
  quarantine_reason text,
  heard_at timestamptz NOT NULL,
  CHECK (method <> 'funding' OR swap_id IS NULL)
);
CREATE INDEX deposit_swap ON deposit (swap_id) WHERE swap_id IS NOT NULL;
CREATE INDEX deposit_waiting ON deposit (match_key) WHERE swap_id IS NULL AND match_key IS NOT NULL;
"""

LEDGER = """
CREATE TABLE account (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('custody', 'equity', 'position', 'fee_income',
    'gas_recovered', 'gas_expense', 'loss', 'payout_suspense', 'swap_liability', 'in_flight',
    'refuel_liability', 'refuel_in_flight', 'suspense', 'claimable')),
  network text NOT NULL,
  token text NOT NULL,
  swap_id uuid,
  deposit_id uuid,
  holder text CHECK (holder IN ('treasury', 'signer', 'deposit_address')),
  address text,
  balance numeric(78,0) NOT NULL DEFAULT 0,
  CHECK ((kind = 'custody') = (holder IS NOT NULL AND address IS NOT NULL)),
  UNIQUE NULLS NOT DISTINCT (kind, network, token, swap_id, deposit_id, address),
  -- Debit is positive. Equity and positions go both ways; the rest keeps its side.
  CHECK (CASE WHEN kind IN ('custody', 'gas_expense', 'loss', 'payout_suspense') THEN balance >= 0
    WHEN kind IN ('equity', 'position') THEN true ELSE balance <= 0 END)
);
CREATE INDEX account_swap ON account (swap_id) WHERE swap_id IS NOT NULL;

CREATE TABLE ledger_transaction (
  id uuid PRIMARY KEY,
  kind text NOT NULL,
  swap_id uuid,
  dedupe_key text NOT NULL UNIQUE,
  network text, -- of the one chain whose custody this moves, with its block
  effective_block bigint,
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  at timestamptz NOT NULL
);
CREATE TABLE posting (
  transaction_id uuid NOT NULL REFERENCES ledger_transaction,
  n int NOT NULL,
  account_id bigint NOT NULL REFERENCES account,
  base_units numeric(78,0) NOT NULL CHECK (base_units <> 0),
  PRIMARY KEY (transaction_id, n)
);
CREATE INDEX posting_account ON posting (account_id);

-- Held and owed in one row per asset: the guard a payout is reserved under, and what can be quoted.
CREATE TABLE inventory (
  network text NOT NULL,
  token text NOT NULL,
  held_base_units numeric(78,0) NOT NULL DEFAULT 0,
  owed_base_units numeric(78,0) NOT NULL DEFAULT 0,
  version int NOT NULL DEFAULT 0,
  -- No CHECK that held covers owed: what a reorg or a payment that cannot be made gives back is owed
  -- whether or not it is still there. Reservations look, under this row's lock.
  PRIMARY KEY (network, token)
);
CREATE TABLE ledger_cursor (network text PRIMARY KEY, number bigint NOT NULL);
CREATE TABLE balance_snapshot (
  network text NOT NULL,
  address text NOT NULL,
  token text NOT NULL,
  block_number bigint NOT NULL,
  block_hash text NOT NULL,
  balance numeric(78,0) NOT NULL,
  PRIMARY KEY (network, address, token, block_number)
);
"""

# Each guard reads only the rows it was called for, once per statement: a batch of any size is one
# check. Postings come in one statement with all of their ledger transaction, so that what is added
# must balance by itself.
LEDGER_GUARDS = (
    """
CREATE FUNCTION postings_balance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM added
      JOIN ledger_transaction ON ledger_transaction.id = added.transaction_id
      WHERE ledger_transaction.xid <> pg_current_xact_id()) THEN
    RAISE EXCEPTION 'ledger transaction is closed';
  END IF;
  IF EXISTS (SELECT 1 FROM added JOIN account ON account.id = added.account_id
      GROUP BY added.transaction_id, account.network, account.token
      HAVING sum(added.base_units) <> 0) THEN
    RAISE EXCEPTION 'unbalanced ledger transaction';
  END IF;
  RETURN NULL;
END $$
""",
    """
CREATE TRIGGER postings_balance AFTER INSERT ON posting
REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION postings_balance()
""",
    """
CREATE FUNCTION ledger_transaction_has_postings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM posting WHERE transaction_id = NEW.id) THEN
    RAISE EXCEPTION 'ledger transaction % has no postings', NEW.id;
  END IF;
  RETURN NULL;
END $$
""",
    """
CREATE CONSTRAINT TRIGGER ledger_transaction_has_postings AFTER INSERT ON ledger_transaction
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_transaction_has_postings()
""",
    """
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'append only: %', TG_TABLE_NAME;
END $$
""",
    *(
        f"""
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {table}
FOR EACH ROW EXECUTE FUNCTION refuse_change()
"""
        for table in ("ledger_transaction", "posting", "swap_transition")
    ),
)

SENDING = """
-- Why we pay. Live is not dead; a final one stays live for ever.
CREATE TABLE intent (
  id uuid PRIMARY KEY,
  paid_id numeric(78,0), -- what the Treasury accepts once; an intent after a dead one has the same
  swap_id uuid REFERENCES swap,
  deposit_id uuid REFERENCES deposit, -- null: the swap's main leg
  kind text NOT NULL CHECK (kind IN ('output', 'refuel', 'refund', 'sweep', 'gasless', 'cancel')),
  network text NOT NULL,
  token text NOT NULL,
  to_address text NOT NULL,
  base_units numeric(78,0) NOT NULL CHECK (base_units >= 0),
  charged_base_units numeric(78,0) NOT NULL DEFAULT 0 CHECK (charged_base_units >= 0),
  usd_micros bigint NOT NULL DEFAULT 0,
  state text NOT NULL CHECK (state IN
    ('reserved', 'assigned', 'broadcast', 'mined', 'confirmed', 'dead')),
  failures int NOT NULL DEFAULT 0,
  goes_alone boolean NOT NULL DEFAULT false, -- it failed in company, or its recipient has code
  due_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  slot_at timestamptz,
  transaction_hash text, -- of the canonical Paid log
  block_number bigint,
  block_hash text,
  block_time timestamptz,
  version int NOT NULL DEFAULT 0, -- of the newest payout message applied
  confirmed_at timestamptz,
  dead_proof jsonb,
  CHECK ((kind IN ('output', 'refuel', 'refund')) = (paid_id IS NOT NULL)),
  CHECK (paid_id IS NULL OR swap_id IS NOT NULL OR deposit_id IS NOT NULL),
  CHECK (deposit_id IS NULL OR kind = 'refund'),
  CHECK (kind <> 'refund' OR charged_base_units >= base_units),
  CHECK (state IN ('reserved', 'dead') OR slot_at IS NOT NULL)
);
CREATE UNIQUE INDEX one_live_intent ON intent (swap_id, kind, deposit_id) NULLS NOT DISTINCT
  WHERE state <> 'dead' AND kind IN ('output', 'refuel', 'refund');
CREATE UNIQUE INDEX payout_or_refund ON intent (swap_id, deposit_id) NULLS NOT DISTINCT
  WHERE state <> 'dead' AND kind IN ('output', 'refund');
CREATE UNIQUE INDEX one_live_paid_id ON intent (network, paid_id) WHERE state <> 'dead';
CREATE INDEX intent_due ON intent (network, due_at) WHERE state = 'reserved';

-- One row per hot key and network: the lock under which nonces are handed out.
CREATE TABLE signer (
  network text NOT NULL,
  address text NOT NULL,
  next_nonce bigint NOT NULL,
  halted_reason text,
  PRIMARY KEY (network, address)
);
CREATE TABLE nonce_slot (
  network text NOT NULL,
  signer text NOT NULL,
  nonce bigint NOT NULL,
  assigned_at timestamptz NOT NULL,
  closed_at timestamptz, -- consumed at a finalized block, and its gas is booked
  PRIMARY KEY (network, signer, nonce)
);
CREATE INDEX nonce_slot_open ON nonce_slot (network, signer, nonce) WHERE closed_at IS NULL;
CREATE TABLE slot_intent (
  network text NOT NULL,
  signer text NOT NULL,
  nonce bigint NOT NULL,
  intent_id uuid NOT NULL REFERENCES intent,
  PRIMARY KEY (network, signer, nonce, intent_id),
  FOREIGN KEY (network, signer, nonce) REFERENCES nonce_slot
);
CREATE INDEX slot_intent_intent ON slot_intent (intent_id);
CREATE TABLE attempt (
  transaction_hash text PRIMARY KEY,
  network text NOT NULL,
  signer text NOT NULL,
  nonce bigint NOT NULL,
  raw bytea NOT NULL CHECK (length(raw) > 0),
  max_fee_per_gas numeric(78,0) NOT NULL,
  max_priority_fee_per_gas numeric(78,0) NOT NULL,
  is_cancel boolean NOT NULL DEFAULT false,
  signed_at timestamptz NOT NULL,
  first_sent_at timestamptz,
  last_sent_at timestamptz,
  CHECK (first_sent_at >= signed_at),
  FOREIGN KEY (network, signer, nonce) REFERENCES nonce_slot
);
CREATE INDEX attempt_slot ON attempt (network, signer, nonce);
CREATE TABLE receipt (
  network text NOT NULL,
  transaction_hash text NOT NULL,
  block_hash text NOT NULL,
  block_number bigint NOT NULL,
  status int NOT NULL,
  fee_base_units numeric(78,0) NOT NULL,
  PRIMARY KEY (network, transaction_hash)
);
CREATE TABLE signer_transaction ( -- what the finalized chain says our signers sent
  network text NOT NULL,
  signer text NOT NULL,
  nonce bigint NOT NULL,
  transaction_hash text NOT NULL,
  PRIMARY KEY (network, signer, nonce)
);

-- A network's sender lane sleeps until an intent is there; its poll makes it certain.
CREATE FUNCTION notify_intent() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('intent_' || network, '') FROM (SELECT DISTINCT network FROM added) AS here;
  RETURN NULL;
END $$;
CREATE TRIGGER intent_written AFTER INSERT ON intent REFERENCING NEW TABLE AS added
FOR EACH STATEMENT EXECUTE FUNCTION notify_intent();
"""


def upgrade() -> None:
    create_runtime_tables(op)
    for statements in (SWAPS, DEPOSITS, LEDGER, *LEDGER_GUARDS, SENDING):
        op.execute(statements)
