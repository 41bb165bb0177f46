-- The chain-watcher's tables as of the release v0.1.0, after those of the runtime. Released, so this
-- file does not change: later changes are revisions.
--
-- Hashes and addresses are text with 0x: hashes in lower case, addresses with checksum.


-- Blocks, and how far each network is read

CREATE TABLE chain_block (
  network text NOT NULL,
  hash text NOT NULL,
  number bigint NOT NULL,
  parent_hash text NOT NULL,
  time timestamptz NOT NULL,
  state text NOT NULL CHECK (state IN ('canonical', 'orphan')),
  finalized boolean NOT NULL DEFAULT false,
  PRIMARY KEY (network, hash),
  CHECK (state = 'canonical' OR NOT finalized)
);
CREATE UNIQUE INDEX one_canonical ON chain_block (network, number) WHERE state = 'canonical';
-- Blocks that a reorg can still remove. A start reads them, and only they become final.
CREATE INDEX chain_block_changeable ON chain_block (network, number)
  WHERE state = 'canonical' AND NOT finalized;

CREATE TABLE watch_cursor (
  network text PRIMARY KEY,
  number bigint NOT NULL,
  hash text NOT NULL,
  parent_hash text NOT NULL,
  time timestamptz NOT NULL,
  finalized_number bigint NOT NULL,
  start_number bigint NOT NULL, -- from here to the cursor every block is stored
  checked_number bigint NOT NULL, -- up to here another node was asked for the same movements
  last_outbox_id bigint NOT NULL DEFAULT 0, -- the last message written no later than this cursor
  halted_at timestamptz,
  halt_reason text,
  CHECK (start_number <= number AND finalized_number <= number),
  CHECK (checked_number <= finalized_number),
  CHECK ((halted_at IS NULL) = (halt_reason IS NULL))
);
CREATE INDEX watch_cursor_halted ON watch_cursor (network) WHERE halted_at IS NOT NULL;

-- Ended halts are stored: their durations do not count in the ages of swaps.
CREATE TABLE past_halt (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  network text NOT NULL,
  halted_at timestamptz NOT NULL,
  resumed_at timestamptz NOT NULL,
  reason text NOT NULL
);
CREATE INDEX past_halt_network ON past_halt (network, resumed_at);


-- Movements of value

-- One row per log (or rise of a watched balance) and block: value came into custody, moved inside
-- it, or left the Treasury. `state` is the last published one. It is null where nothing is ever
-- published: a Depository log accounts for the receipt (`claimed_by`), or the value stayed among the
-- service's addresses. Sweeps and withdrawals stay there too, but the ledger moves with them.
CREATE TABLE movement (
  network text NOT NULL,
  block_hash text NOT NULL,
  id uuid NOT NULL,
  block_number bigint NOT NULL,
  kind text NOT NULL CHECK (kind IN ('deposited', 'token_transfer', 'native_received',
    'balance_rose', 'swept', 'paid', 'withdrawn')),
  transaction_hash text,
  token text NOT NULL,
  from_address text,
  to_address text NOT NULL,
  base_units numeric(78,0) NOT NULL,
  claimed_by uuid,
  internal boolean NOT NULL DEFAULT false,
  paid_id numeric(78,0),
  sequence_number bigint,
  memo text,
  quarantine_reason text,
  version int NOT NULL DEFAULT 0,
  state text CHECK (state IN ('seen', 'confirmed', 'reverted')),
  confirmations_required int,
  waits_for_finality boolean,
  -- What had come to the address before a rise. With the amount it identifies the rise.
  total_before numeric(78,0),
  PRIMARY KEY (network, block_hash, id),
  FOREIGN KEY (network, block_hash) REFERENCES chain_block,
  CHECK (transaction_hash IS NOT NULL OR kind = 'balance_rose'),
  CHECK (base_units > 0 OR (kind = 'paid' AND base_units = 0)),
  CHECK ((kind = 'paid') = (paid_id IS NOT NULL)),
  CHECK (claimed_by IS NULL OR kind IN ('token_transfer', 'native_received')),
  CHECK ((state IS NULL)
    = (claimed_by IS NOT NULL OR (internal AND kind NOT IN ('swept', 'withdrawn')))),
  CHECK (num_nulls(state, confirmations_required, waits_for_finality) IN (0, 3)),
  CHECK ((state IS NULL) = (version = 0)),
  CHECK (confirmations_required >= 1),
  CONSTRAINT movement_rise CHECK ((kind = 'balance_rose') = (total_before IS NOT NULL)),
  CONSTRAINT movement_not_deposit CHECK (kind NOT IN ('swept', 'withdrawn') OR internal)
);
-- Every publication about an intent, whichever transaction paid it.
CREATE INDEX movement_paid ON movement (network, paid_id) WHERE paid_id IS NOT NULL;
-- A start reads these beside the movements of blocks that can still change.
CREATE INDEX movement_waiting ON movement (network) WHERE state = 'seen';
-- Everything that came to an address, and everything that was swept from it.
CREATE INDEX movement_of_address ON movement (network, to_address) WHERE kind = 'balance_rose';
CREATE INDEX movement_swept_from ON movement (network, from_address) WHERE kind = 'swept';
-- Every publication about a deposit, and about a transaction. These start with the searched column:
-- the planner could use an index that starts with the network for any query about a network, and
-- read all of it.
CREATE INDEX movement_id ON movement (id, network);
CREATE INDEX movement_told_of ON movement (transaction_hash, network) WHERE state IS NOT NULL;


-- What to look for

-- Deposit addresses. `position` is the order in which the follower started to watch them, under the
-- lock of its cursor; null before that.
CREATE TABLE deposit_target (
  network text NOT NULL,
  address text NOT NULL,
  since timestamptz NOT NULL,
  position bigint UNIQUE,
  looked_at timestamptz NOT NULL DEFAULT now(), -- when its balances were last read
  PRIMARY KEY (network, address)
);
CREATE SEQUENCE deposit_target_position;
CREATE INDEX deposit_target_sender ON deposit_target (network, lower(address));
CREATE INDEX deposit_target_new ON deposit_target (network) WHERE position IS NULL;
CREATE INDEX deposit_target_taken ON deposit_target (network, position);
CREATE INDEX deposit_target_young ON deposit_target (network, since) WHERE position IS NOT NULL;
CREATE INDEX deposit_target_old ON deposit_target (network, looked_at) WHERE position IS NOT NULL;

-- Transactions that callers named. Each is looked up repeatedly, because it may not have propagated
-- yet.
CREATE TABLE hint (
  network text NOT NULL,
  transaction_hash text NOT NULL,
  due_at timestamptz NOT NULL,
  pause interval NOT NULL CHECK (pause > '0'),
  ends_at timestamptz NOT NULL,
  PRIMARY KEY (network, transaction_hash)
);
CREATE INDEX hint_due ON hint (due_at);


-- What other services read, beside the outbox and the watermarks

CREATE VIEW progress AS
SELECT network, number AS block_number, time AS block_time, finalized_number AS final_number,
       last_outbox_id
FROM watch_cursor;

CREATE VIEW halted_network AS
SELECT network, halted_at, halt_reason AS reason FROM watch_cursor WHERE halted_at IS NOT NULL;

-- Halts, present and past.
CREATE VIEW network_halt AS
SELECT network, halted_at AS began_at, CAST(NULL AS timestamptz) AS ended_at FROM watch_cursor
WHERE halted_at IS NOT NULL
UNION ALL
SELECT network, halted_at, resumed_at FROM past_halt;

GRANT USAGE ON SCHEMA chain_watcher TO api, settler;
GRANT SELECT ON progress, halted_network TO api, settler;
GRANT SELECT ON network_halt TO settler;
