-- The settler's tables as of the release v0.1.0, after those of the runtime. Released, so this file
-- does not change: later changes are revisions.

-- For tables whose rows are never changed or deleted.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'append only: %', TG_TABLE_NAME;
END $$;


-- Swaps

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
-- The expiry sweep, and swaps that may exceed the maximum duration of their status: neither query
-- reads history.
CREATE INDEX swap_expiring ON swap (source_network, expires_at)
  WHERE status = 'user_transfer_pending';
CREATE INDEX swap_open ON swap (created_at, id)
  WHERE status IN ('ls_transfer_pending', 'pending_refund');

CREATE TABLE swap_transition (
  swap_id uuid NOT NULL REFERENCES swap,
  sequence int NOT NULL CHECK (sequence > 0),
  from_status text,
  to_status text NOT NULL,
  at timestamptz NOT NULL,
  PRIMARY KEY (swap_id, sequence)
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON swap_transition
  FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- Swaps with a received amount that differs from the quote, until the quoter has requoted it.
CREATE TABLE requote_due (
  swap_id uuid PRIMARY KEY REFERENCES swap,
  due_at timestamptz NOT NULL DEFAULT now(),
  since timestamptz NOT NULL DEFAULT now() -- when the amount was received
);
CREATE INDEX requote_due_next ON requote_due (due_at, swap_id);

-- Swaps with a final output and an unsent refuel, until they complete without the refuel.
CREATE TABLE completion_due (
  swap_id uuid PRIMARY KEY REFERENCES swap,
  due_at timestamptz NOT NULL
);
CREATE INDEX completion_due_next ON completion_due (due_at);


-- Deposits

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
  is_booked boolean NOT NULL DEFAULT false, -- the ledger has its value
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
  -- A deposit without a memo belongs to a swap by a proof or by an operator's order.
  attached_at timestamptz,
  attached_by text,
  attached_because text,
  CHECK (method <> 'funding' OR swap_id IS NULL),
  CONSTRAINT deposit_attached CHECK (attached_at IS NULL OR swap_id IS NOT NULL)
);
CREATE INDEX deposit_swap ON deposit (swap_id) WHERE swap_id IS NOT NULL;
CREATE INDEX deposit_waiting ON deposit (match_key) WHERE swap_id IS NULL AND match_key IS NOT NULL;
CREATE INDEX deposit_of_nobody ON deposit (transaction_hash)
  WHERE swap_id IS NULL OR attached_at IS NOT NULL;
CREATE INDEX deposit_without_swap ON deposit (network, transaction_hash) WHERE swap_id IS NULL;

-- Legs with a refund due; its amount follows when the chain has reported the gas price. A refund may
-- be postponed, for a limited time after `since`.
CREATE TABLE refund_due (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  network text NOT NULL,
  swap_id uuid NOT NULL REFERENCES swap,
  deposit_id uuid REFERENCES deposit, -- null: the swap's main leg
  due_at timestamptz NOT NULL DEFAULT now(),
  since timestamptz NOT NULL DEFAULT now(),
  UNIQUE NULLS NOT DISTINCT (swap_id, deposit_id)
);
CREATE INDEX refund_due_next ON refund_due (network, due_at, id);

-- Tokens outside the catalogue, and the operator who chose the recipient of their return.
CREATE TABLE rescued_token (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  network text NOT NULL,
  transaction_hash text NOT NULL, -- of the receipt
  token text NOT NULL,
  from_address text NOT NULL, -- reported by the token's contract, like the whole transfer
  to_address text NOT NULL, -- the Treasury, or a deposit address
  base_units numeric(78,0) NOT NULL,
  returned_to text NOT NULL,
  ordered_by text NOT NULL,
  ordered_because text NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX rescued_token_transaction ON rescued_token (network, transaction_hash);


-- The ledger

CREATE TABLE account (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL CONSTRAINT account_kind CHECK (kind IN ('custody', 'equity', 'position',
    'fee_income', 'gas_recovered', 'gas_expense', 'loss', 'payout_suspense', 'swap_liability',
    'in_flight', 'refuel_liability', 'refuel_in_flight', 'suspense', 'claimable', 'partner_fee')),
  network text NOT NULL,
  token text NOT NULL,
  swap_id uuid,
  deposit_id uuid,
  holder text CHECK (holder IN ('treasury', 'signer', 'deposit_address')),
  address text,
  balance numeric(78,0) NOT NULL DEFAULT 0,
  app_id uuid,
  CHECK ((kind = 'custody') = (holder IS NOT NULL AND address IS NOT NULL)),
  -- Debit is positive. Equity and positions have either sign; each other kind has one.
  CHECK (CASE WHEN kind IN ('custody', 'gas_expense', 'loss', 'payout_suspense') THEN balance >= 0
    WHEN kind IN ('equity', 'position') THEN true ELSE balance <= 0 END),
  CONSTRAINT account_app CHECK (kind <> 'partner_fee' OR app_id IS NOT NULL),
  CONSTRAINT account_identity UNIQUE NULLS NOT DISTINCT
    (kind, network, token, swap_id, deposit_id, address, app_id)
);
CREATE INDEX account_swap ON account (swap_id) WHERE swap_id IS NOT NULL;
CREATE INDEX account_partner_fee ON account (app_id, network, token) WHERE kind = 'partner_fee';
-- Postings have the account's id, so neither the id nor the account changes. Per statement: a
-- trigger per row would lock each row once more before its balance changes.
CREATE TRIGGER stays BEFORE DELETE OR UPDATE OF id ON account
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE ledger_transaction (
  id uuid PRIMARY KEY,
  kind text NOT NULL,
  swap_id uuid,
  dedupe_key text NOT NULL UNIQUE,
  -- The network of the custody that this moves, and the block.
  network text,
  effective_block bigint,
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  at timestamptz NOT NULL
);
CREATE INDEX ledger_transaction_losses ON ledger_transaction (at)
  WHERE kind IN ('lost', 'recovered', 'refuel_lost');
-- For operators who trace a swap's money.
CREATE INDEX ledger_transaction_swap ON ledger_transaction (swap_id) WHERE swap_id IS NOT NULL;

-- `postings_balance` checks the references of postings, once per statement: foreign keys would check
-- each row.
CREATE TABLE posting (
  transaction_id uuid NOT NULL,
  n int NOT NULL,
  account_id bigint NOT NULL,
  base_units numeric(78,0) NOT NULL CHECK (base_units <> 0),
  PRIMARY KEY (transaction_id, n)
);
CREATE INDEX posting_account ON posting (account_id);

-- Each guard reads only the added rows, once per statement: a batch of any size is one check. All
-- postings of a ledger transaction come in one statement, so the added rows must balance. As with
-- foreign keys, rows that only another transaction sees do not count.
CREATE FUNCTION postings_balance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM added
      LEFT JOIN ledger_transaction AS entry ON entry.id = added.transaction_id
      WHERE entry.xid IS DISTINCT FROM pg_current_xact_id()) THEN
    RAISE EXCEPTION 'ledger transaction is closed, or there is none';
  END IF;
  IF EXISTS (SELECT 1 FROM added LEFT JOIN account ON account.id = added.account_id
      GROUP BY added.transaction_id, account.network, account.token
      HAVING account.network IS NULL OR sum(added.base_units) <> 0) THEN
    RAISE EXCEPTION 'unbalanced ledger transaction, or one of an account that is not there';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER postings_balance AFTER INSERT ON posting
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION postings_balance();

CREATE FUNCTION ledger_transaction_has_postings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM posting WHERE transaction_id = NEW.id) THEN
    RAISE EXCEPTION 'ledger transaction % has no postings', NEW.id;
  END IF;
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER ledger_transaction_has_postings AFTER INSERT ON ledger_transaction
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_transaction_has_postings();

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledger_transaction
  FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON posting
  FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- Held and owed in one row per asset: a payout is reserved under its lock, and quotes are limited by
-- it. No CHECK that held covers owed: what a reorg or an impossible payment returns is owed, whether
-- or not it is still held. Reservations compare the two.
CREATE TABLE inventory (
  network text NOT NULL,
  token text NOT NULL,
  held_base_units numeric(78,0) NOT NULL DEFAULT 0,
  owed_base_units numeric(78,0) NOT NULL DEFAULT 0,
  version int NOT NULL DEFAULT 0,
  PRIMARY KEY (network, token)
);

-- The finalized block up to which the ledger has booked a network, and the balances at such blocks.
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

-- Withdrawals by the owner of the Treasury.
CREATE TABLE withdrawal (
  id uuid PRIMARY KEY,
  version int NOT NULL,
  state text NOT NULL CHECK (state IN ('seen', 'confirmed', 'reverted')),
  is_booked boolean NOT NULL DEFAULT false,
  network text NOT NULL,
  token text NOT NULL,
  treasury text NOT NULL,
  to_address text NOT NULL,
  base_units numeric(78,0) NOT NULL CHECK (base_units > 0),
  transaction_hash text NOT NULL,
  block_number bigint NOT NULL,
  block_hash text NOT NULL,
  block_time timestamptz NOT NULL
);
CREATE INDEX withdrawal_unbooked ON withdrawal (network, block_number, id)
  WHERE state = 'confirmed' AND NOT is_booked;


-- Payments

-- The reason of a payment. A live intent is not dead; a final one stays live for ever.
CREATE TABLE intent (
  id uuid PRIMARY KEY,
  paid_id numeric(78,0), -- the Treasury accepts it once; the intent after a dead one has the same
  swap_id uuid REFERENCES swap,
  deposit_id uuid REFERENCES deposit, -- null: the swap's main leg
  kind text NOT NULL CONSTRAINT intent_kind CHECK (kind IN
    ('output', 'refuel', 'refund', 'claim', 'sweep', 'gasless', 'cancel', 'partner_fee')),
  network text NOT NULL,
  token text NOT NULL,
  to_address text NOT NULL,
  base_units numeric(78,0) NOT NULL CHECK (base_units >= 0),
  charged_base_units numeric(78,0) NOT NULL DEFAULT 0 CHECK (charged_base_units >= 0),
  usd_micros bigint NOT NULL DEFAULT 0,
  state text NOT NULL CHECK (state IN
    ('reserved', 'assigned', 'broadcast', 'mined', 'confirmed', 'dead')),
  failures int NOT NULL DEFAULT 0,
  goes_alone boolean NOT NULL DEFAULT false, -- it failed in a batch, or its recipient has code
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
  -- Of a claim: claimable balances are paid by an operator's order.
  ordered_by text,
  ordered_because text,
  -- Of a gasless deposit, which users sign: the Paymaster's call.
  payer text,
  call_data bytea,
  not_after timestamptz,
  -- Of a fee that is owed to an app.
  app_id uuid,
  CONSTRAINT intent_paid_id CHECK
    ((kind IN ('output', 'refuel', 'refund', 'claim', 'partner_fee')) = (paid_id IS NOT NULL)),
  CONSTRAINT intent_owner CHECK (paid_id IS NULL OR swap_id IS NOT NULL
    OR deposit_id IS NOT NULL OR app_id IS NOT NULL),
  CONSTRAINT intent_leg CHECK (deposit_id IS NULL OR kind IN ('refund', 'claim')),
  CONSTRAINT intent_order CHECK ((ordered_by IS NULL) = (ordered_because IS NULL)),
  CONSTRAINT intent_app CHECK ((kind = 'partner_fee') = (app_id IS NOT NULL)),
  -- PostgreSQL chose these names over several revisions; in this order it would choose others.
  CONSTRAINT intent_check CHECK ((kind = 'gasless') = (payer IS NOT NULL)),
  CONSTRAINT intent_check2 CHECK ((kind = 'gasless') = (call_data IS NOT NULL)),
  CONSTRAINT intent_check5 CHECK ((kind = 'gasless') = (not_after IS NOT NULL)),
  CONSTRAINT intent_check3 CHECK (kind <> 'refund' OR charged_base_units >= base_units),
  CONSTRAINT intent_check4 CHECK (state IN ('reserved', 'dead') OR slot_at IS NOT NULL)
);

-- Among live intents: one of a kind per leg, one output or refund per leg, and one per paid id.
CREATE UNIQUE INDEX one_live_intent ON intent (swap_id, kind, deposit_id) NULLS NOT DISTINCT
  WHERE state <> 'dead' AND kind IN ('output', 'refuel', 'refund');
CREATE UNIQUE INDEX payout_or_refund ON intent (swap_id, deposit_id) NULLS NOT DISTINCT
  WHERE state <> 'dead' AND kind IN ('output', 'refund');
CREATE UNIQUE INDEX one_live_paid_id ON intent (network, paid_id) WHERE state <> 'dead';
CREATE INDEX intent_due ON intent (network, due_at) WHERE state = 'reserved';
-- A claimable balance is a leg in one asset. It is paid once.
CREATE UNIQUE INDEX one_live_claim ON intent (deposit_id, swap_id, network, token)
  NULLS NOT DISTINCT WHERE state <> 'dead' AND kind = 'claim';
-- Gasless deposits: one of a swap at a time, those that may lapse, and those that failed.
CREATE UNIQUE INDEX one_live_relay ON intent (swap_id) WHERE kind = 'gasless' AND state <> 'dead';
CREATE INDEX relay_lapsing ON intent (not_after)
  WHERE kind = 'gasless' AND state IN ('reserved', 'assigned');
CREATE INDEX relay_reverted ON intent (payer) WHERE kind = 'gasless' AND state = 'dead';
CREATE INDEX intent_swept ON intent (network, block_number)
  WHERE kind = 'sweep' AND state = 'mined';
-- Open gasless deposits of a signer are sent one after another.
CREATE INDEX relay_out ON intent (payer)
  WHERE kind = 'gasless' AND state IN ('assigned', 'broadcast');
CREATE INDEX intent_partner_fee ON intent (app_id, network, token) WHERE kind = 'partner_fee';
-- The id of an app's next payment follows from the paid sum, so there is one payment at a time.
CREATE UNIQUE INDEX one_live_partner_fee ON intent (app_id, network, token)
  WHERE kind = 'partner_fee' AND state NOT IN ('dead', 'confirmed');
-- Failed payouts, which a refund follows.
CREATE INDEX intent_tried ON intent (swap_id) WHERE kind = 'output' AND state = 'dead';
-- Every message about a swap loads its payments.
CREATE INDEX intent_swap ON intent (swap_id) WHERE swap_id IS NOT NULL;
CREATE INDEX intent_unpaid ON intent (network, created_at)
  WHERE state IN ('reserved', 'assigned', 'broadcast', 'mined') AND kind <> 'sweep';

-- A user's signature for a gasless deposit, and its outcome.
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
  transaction_hash text, -- of the deposit, once it was sent
  submitted_at timestamptz NOT NULL,
  PRIMARY KEY (swap_id, submission)
);

-- External payments: ids that another key spent at the Treasury, and the operator who explained each.
CREATE TABLE taken_payment (
  intent_id uuid PRIMARY KEY REFERENCES intent,
  network text NOT NULL,
  paid_id numeric(78,0) NOT NULL,
  transaction_hash text NOT NULL, -- that spent the id on the chain
  block_number bigint NOT NULL,
  block_hash text NOT NULL,
  token text NOT NULL,
  to_address text NOT NULL,
  base_units numeric(78,0) NOT NULL CHECK (base_units >= 0),
  outcome text NOT NULL CHECK (outcome IN ('made', 'failed', 'left')),
  named_by text NOT NULL,
  named_because text NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
);


-- Signers and their transactions

-- One row per hot key and network: nonces are assigned under its lock. No CHECK ties the reason of a
-- halt to its time: the column of the time came later, and processes from before it gave no time.
CREATE TABLE signer (
  network text NOT NULL,
  address text NOT NULL,
  next_nonce bigint NOT NULL,
  halted_reason text,
  halted_at timestamptz,
  resumed_at timestamptz,
  resumed_by text,
  resumed_reason text,
  PRIMARY KEY (network, address),
  CHECK ((resumed_at IS NULL) = (resumed_by IS NULL)
    AND (resumed_at IS NULL) = (resumed_reason IS NULL))
);

CREATE TABLE nonce_slot (
  network text NOT NULL,
  signer text NOT NULL,
  nonce bigint NOT NULL,
  assigned_at timestamptz NOT NULL,
  closed_at timestamptz, -- consumed at a finalized block, and its gas is booked
  -- The final block at which the nonce was found consumed, and the report of each node. The reports
  -- are null if nothing reverted.
  final_number bigint,
  final_hash text,
  witnesses jsonb,
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

-- Transactions of the signers on the finalized chain.
CREATE TABLE signer_transaction (
  network text NOT NULL,
  signer text NOT NULL,
  nonce bigint NOT NULL,
  transaction_hash text NOT NULL,
  PRIMARY KEY (network, signer, nonce)
);

-- External transactions that used a signer's nonce, and the operator who named each.
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


-- Deposit addresses and their sweeps

CREATE TABLE deposit_address (
  network text NOT NULL,
  address text NOT NULL,
  sequence_number bigint NOT NULL UNIQUE,
  swap_id uuid NOT NULL UNIQUE REFERENCES swap,
  PRIMARY KEY (network, address)
);

-- One token at one address: its balance in the ledger rose, and no sweep was ordered since. Operators
-- order sweeps of tokens that no swap expects and no feed prices.
CREATE TABLE sweep_due (
  network text NOT NULL,
  address text NOT NULL,
  token text NOT NULL,
  due_at timestamptz NOT NULL DEFAULT now(),
  is_ordered boolean NOT NULL DEFAULT false,
  PRIMARY KEY (network, address, token)
);
CREATE INDEX sweep_due_next ON sweep_due (network, due_at);

-- The addresses that a sweep intent empties; the intent has the progress.
CREATE TABLE sweep (
  intent_id uuid PRIMARY KEY REFERENCES intent,
  network text NOT NULL,
  address text NOT NULL,
  token text NOT NULL,
  sequence_number bigint NOT NULL
);
CREATE INDEX sweep_of_address ON sweep (network, address, token);

-- Sweeps that the chain reports, of any sender. Booked once, when final; never reversed. Those of
-- addresses without a swap move money that has no swap yet (`is_nobodys`). Those with an impossible
-- amount are recorded and block no others (`is_quarantined`).
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
  block_time timestamptz NOT NULL,
  is_nobodys boolean NOT NULL DEFAULT false,
  is_quarantined boolean NOT NULL DEFAULT false
);
CREATE INDEX swept_open ON swept (network, from_address, token)
  WHERE state <> 'reverted' AND NOT is_booked;
CREATE INDEX swept_nobodys ON swept (network, from_address) WHERE is_nobodys;
CREATE INDEX swept_unbooked ON swept (network, block_number)
  WHERE state = 'confirmed' AND NOT is_booked AND NOT is_quarantined;


-- Outflow caps

CREATE TABLE outflow_cap (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  network text NOT NULL,
  token text, -- null: every token, counted in millionths of a dollar
  app_id uuid, -- null: every app
  units numeric(78,0) CHECK (units >= 0), -- null: lifted
  span interval NOT NULL CHECK (span >= '1 second'),
  set_at timestamptz NOT NULL DEFAULT now(),
  set_by text NOT NULL,
  set_because text NOT NULL,
  UNIQUE NULLS NOT DISTINCT (network, token, app_id)
);

-- The outflow under a cap, in slices of its span; a slice counts until all of it is older.
CREATE TABLE outflow_spent (
  cap_id bigint NOT NULL REFERENCES outflow_cap,
  until timestamptz NOT NULL,
  spent numeric(78,0) NOT NULL CHECK (spent >= 0),
  PRIMARY KEY (cap_id, until)
);

-- The part of a payment in a slice: it is given back when the payment is proven not to have left.
CREATE TABLE outflow_counted (
  intent_id uuid NOT NULL REFERENCES intent,
  cap_id bigint NOT NULL REFERENCES outflow_cap,
  until timestamptz NOT NULL,
  amount numeric(78,0) NOT NULL,
  PRIMARY KEY (intent_id, cap_id)
);
CREATE INDEX outflow_counted_slices ON outflow_counted (cap_id, until);

-- Payments that wait. One above the Treasury's limit blocks no other one.
CREATE TABLE outflow_queue (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  intent_id uuid NOT NULL REFERENCES intent,
  cap_id bigint REFERENCES outflow_cap, -- null: the Treasury's own limit of the token
  network text NOT NULL,
  token text NOT NULL,
  created_at timestamptz NOT NULL, -- of the intent: its place in the queue
  amount numeric(78,0) NOT NULL, -- in the cap's unit
  since timestamptz NOT NULL DEFAULT now(),
  is_too_large boolean NOT NULL DEFAULT false,
  UNIQUE NULLS NOT DISTINCT (intent_id, cap_id)
);
CREATE INDEX outflow_queue_next ON outflow_queue (cap_id, created_at, intent_id);
CREATE INDEX outflow_queue_treasury ON outflow_queue (network, token, created_at, intent_id)
  WHERE cap_id IS NULL AND NOT is_too_large;
CREATE INDEX outflow_queue_too_large ON outflow_queue (network, token, amount, intent_id)
  WHERE cap_id IS NULL AND is_too_large;

-- Payments that an operator sends although a cap is used up.
CREATE TABLE outflow_pass (
  intent_id uuid PRIMARY KEY REFERENCES intent,
  network text NOT NULL,
  passed_at timestamptz NOT NULL DEFAULT now(),
  passed_by text NOT NULL,
  passed_because text NOT NULL,
  is_used boolean NOT NULL DEFAULT false
);
CREATE INDEX outflow_pass_open ON outflow_pass (network) WHERE NOT is_used;


-- Stops, blocked addresses and alarms

-- The kill switch: stops of signing on a network, and their ends.
CREATE TABLE payout_stop (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  network text NOT NULL, -- '*': all networks
  stopped_at timestamptz NOT NULL DEFAULT now(),
  stopped_by text NOT NULL,
  stopped_because text NOT NULL,
  lifted_at timestamptz,
  lifted_by text,
  lifted_because text,
  CHECK ((lifted_at IS NULL) = (lifted_by IS NULL)
    AND (lifted_at IS NULL) = (lifted_because IS NULL))
);
CREATE UNIQUE INDEX one_stop ON payout_stop (network) WHERE lifted_at IS NULL;
CREATE INDEX payout_stop_past ON payout_stop (network, lifted_at);

-- Networks with too many reversed deposits: no payment is sent for deposits from them.
CREATE TABLE source_stop (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  network text NOT NULL,
  stopped_at timestamptz NOT NULL DEFAULT now(),
  stopped_because text NOT NULL,
  lifted_at timestamptz,
  lifted_by text,
  lifted_because text,
  CHECK ((lifted_at IS NULL) = (lifted_by IS NULL)
    AND (lifted_at IS NULL) = (lifted_because IS NULL))
);
CREATE UNIQUE INDEX one_source_stop ON source_stop (network) WHERE lifted_at IS NULL;
CREATE INDEX source_stop_past ON source_stop (network, lifted_at);

-- Addresses that operators blocked, and the version of the list.
CREATE TABLE blocked_address (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  address text NOT NULL CHECK (address = lower(address)),
  network text, -- null: all networks
  blocked_at timestamptz NOT NULL DEFAULT now(),
  blocked_by text NOT NULL,
  blocked_because text NOT NULL,
  lifted_at timestamptz,
  lifted_by text,
  lifted_because text,
  CHECK ((lifted_at IS NULL) = (lifted_by IS NULL)
    AND (lifted_at IS NULL) = (lifted_because IS NULL))
);
CREATE UNIQUE INDEX one_block ON blocked_address (address, network) NULLS NOT DISTINCT
  WHERE lifted_at IS NULL;
CREATE TABLE blocked_list (id int PRIMARY KEY CHECK (id = 1), version bigint NOT NULL);
INSERT INTO blocked_list VALUES (1, 1);

-- Periods without blocks of a network: the ages of its open transactions do not grow meanwhile.
CREATE TABLE network_silence (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  network text NOT NULL,
  began_at timestamptz NOT NULL, -- the time of the last block before it
  ended_at timestamptz,
  CHECK (ended_at >= began_at)
);
CREATE UNIQUE INDEX one_silence ON network_silence (network) WHERE ended_at IS NULL;
CREATE INDEX network_silence_past ON network_silence (network, ended_at);

-- How many swaps of a source network exceed the maximum duration of their status.
CREATE TABLE stuck_report (
  network text PRIMARY KEY,
  stuck int NOT NULL CHECK (stuck >= 0),
  at timestamptz NOT NULL
);


-- What the api reads, beside the outbox and the watermarks

-- The history of a swap that partners may read.
CREATE VIEW swap_event AS
SELECT swap_id, sequence, from_status, to_status, at FROM swap_transition;

-- The postings of a swap's own ledger transactions, on accounts of this swap or of no swap: postings
-- of another swap in the same transaction are left out. The fee that the swap earned for its partner
-- moves between accounts without a swap. It is found by its dedupe key, which names the output.
CREATE VIEW swap_posting AS
SELECT touched.swap_id, entry.id AS transaction_id, entry.kind AS reason, entry.at, entry.network,
       entry.effective_block AS block_number, posting.n, account.kind AS account,
       account.network AS asset_network, account.token AS asset_token, posting.base_units
FROM (
    SELECT own.swap_id, mine.transaction_id
    FROM account AS own JOIN posting AS mine ON mine.account_id = own.id
    WHERE own.swap_id IS NOT NULL
    UNION
    SELECT output.swap_id, earned.id
    FROM intent AS output
    JOIN ledger_transaction AS earned
        ON earned.dedupe_key = 'partner_fee_earned/' || CAST(output.id AS text)
    WHERE output.kind = 'output' AND output.state <> 'dead'
) AS touched
JOIN ledger_transaction AS entry
    ON entry.id = touched.transaction_id AND entry.swap_id = touched.swap_id
JOIN posting ON posting.transaction_id = entry.id
JOIN account ON account.id = posting.account_id
WHERE account.swap_id IS NULL OR account.swap_id = touched.swap_id;

-- What a swap is paid with: the api stores it only in rendered form.
CREATE VIEW swap_source AS SELECT id AS swap_id, source_network, source_token FROM swap;

-- The sequence of every swap: the api compares it with its read model.
CREATE VIEW swap_told AS SELECT id AS swap_id, sequence FROM swap;

-- Transfers to a Treasury that named no swap. The sender owned the money.
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

-- The public part of a network's state.
CREATE VIEW network_state AS
SELECT asset.network, count(*) AS tokens,
       count(*) FILTER (WHERE held_base_units > owed_base_units) AS payable_tokens,
       (SELECT stuck FROM stuck_report AS report WHERE report.network = asset.network) AS stuck,
       EXISTS (SELECT FROM payout_stop AS stop
         WHERE stop.network IN (asset.network, '*') AND stop.lifted_at IS NULL)
       OR EXISTS (SELECT FROM signer
         WHERE signer.network = asset.network AND signer.halted_reason IS NOT NULL) AS is_stopped
FROM inventory AS asset GROUP BY asset.network;

CREATE VIEW stopped_network AS SELECT network FROM payout_stop WHERE lifted_at IS NULL;
CREATE VIEW stopped_source AS SELECT network FROM source_stop WHERE lifted_at IS NULL;
CREATE VIEW blocked AS SELECT address, network FROM blocked_address WHERE lifted_at IS NULL;
CREATE VIEW blocked_version AS SELECT version FROM blocked_list;

GRANT USAGE ON SCHEMA settler TO api;
GRANT SELECT ON swap_event, swap_posting, swap_source, swap_told, lone_transfer, network_state,
  stopped_network, stopped_source, blocked, blocked_version TO api;
