-- The real tables in the shape that the thirty invariants ask for. Applied after the migrations,
-- by the role that may create the schema; the roles auditor and settler read it. Hashes of transactions and addresses
-- are bytes here. Hashes of blocks stay text, so that a join with chain_block uses its primary key.
-- A leg is (swap_id, deposit_id): deposit_id null is the swap's main leg.
DROP SCHEMA IF EXISTS invariant CASCADE;
CREATE SCHEMA invariant;
SET search_path = invariant;

CREATE FUNCTION bytes(hex text) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT
RETURN decode(substr(hex, 3), 'hex');

-- Swaps
CREATE VIEW swap AS
SELECT id, app_id, status, sequence AS version, source_network AS src_chain,
       bytes(source_token) AS src_token, destination_network AS dst_chain,
       bytes(destination_token) AS dst_token, created_at, closed_at AS close_date
FROM settler.swap;
CREATE VIEW swap_transition AS
SELECT swap_id, sequence AS seq, from_status, to_status, at FROM settler.swap_transition;
-- Held against the status table by tests/test_invariants.py.
CREATE TABLE allowed_edge (from_status text, to_status text NOT NULL);
INSERT INTO allowed_edge VALUES
  (NULL, 'user_transfer_pending'),
  ('user_transfer_pending', 'expired'),
  ('user_transfer_pending', 'ls_transfer_pending'),
  ('user_transfer_pending', 'pending_refund'),
  ('user_transfer_pending', 'failed'),
  ('ls_transfer_pending', 'completed'),
  ('ls_transfer_pending', 'pending_refund'),
  ('ls_transfer_pending', 'failed'),
  ('ls_transfer_pending', 'user_transfer_pending'),
  ('failed', 'pending_refund'),
  ('pending_refund', 'user_transfer_pending'),
  ('pending_refund', 'refunded'),
  ('pending_refund', 'failed');

-- Chains
CREATE TABLE network (chain_id text PRIMARY KEY, payout_confirmations int);
CREATE VIEW chain_block AS
SELECT network AS chain_id, hash, number, parent_hash,
       state, finalized
FROM chain_watcher.chain_block;
CREATE VIEW watch_cursor AS
SELECT network AS chain_id, number, finalized_number, start_number FROM chain_watcher.watch_cursor;
CREATE VIEW movement AS
SELECT network AS chain_id, block_hash, id, kind,
       bytes(transaction_hash) AS tx_hash, bytes(token) AS token, bytes(from_address) AS from_addr,
       bytes(to_address) AS to_addr, base_units AS amount, claimed_by, internal, paid_id
FROM chain_watcher.movement
-- What providers denied never was, although its block is canonical.
WHERE state IS DISTINCT FROM 'reverted' OR EXISTS(SELECT 1 FROM chain_watcher.chain_block b
 WHERE (b.network,b.hash)=(movement.network,movement.block_hash) AND b.state='orphan');

-- Deposits
CREATE VIEW deposit AS
SELECT id, swap_id, network AS chain_id, block_hash, bytes(token) AS token,
       base_units AS amount, returned_base_units AS returned, method, state
FROM settler.deposit;

-- Ledger
CREATE VIEW account AS
SELECT id, swap_id, deposit_id, network AS chain_id, bytes(token) AS token, kind, holder,
       bytes(address) AS address, kind IN ('equity', 'position') AS may_go_negative, balance,
       app_id
FROM settler.account;
CREATE VIEW ltxn AS
SELECT id, kind, swap_id, dedupe_key, effective_block AS eff_block, xid, at
FROM settler.ledger_transaction;
CREATE VIEW posting AS
SELECT transaction_id AS txn_id, n, account_id, base_units AS amount FROM settler.posting;
CREATE VIEW ledger_cursor AS SELECT network AS chain_id, number FROM settler.ledger_cursor;
CREATE VIEW balance_snapshot AS
SELECT network AS chain_id, bytes(address) AS address, bytes(token) AS token, block_number,
       block_hash, balance
FROM settler.balance_snapshot;

-- Sending
CREATE VIEW intent AS
SELECT id, paid_id, swap_id, deposit_id, kind, network AS chain_id, bytes(token) AS token,
       bytes(to_address) AS to_addr, base_units AS amount, charged_base_units AS charged, state,
       dead_proof, usd_micros, created_at AS at, slot_at, confirmed_at, app_id
FROM settler.intent;
CREATE VIEW nonce_slot AS
SELECT network AS chain_id, bytes(signer) AS signer, nonce FROM settler.nonce_slot;
CREATE VIEW slot_intent AS
SELECT network AS chain_id, bytes(signer) AS signer, nonce, intent_id FROM settler.slot_intent;
CREATE VIEW attempt AS
SELECT bytes(transaction_hash) AS tx_hash, network AS chain_id, bytes(signer) AS signer, nonce,
       raw, max_fee_per_gas AS max_fee, max_priority_fee_per_gas AS tip, is_cancel, signed_at,
       first_sent_at
FROM settler.attempt;
CREATE VIEW receipt AS
SELECT network AS chain_id, bytes(transaction_hash) AS tx_hash, block_hash, block_number,
       status, fee_base_units AS fee_wei
FROM settler.receipt;
CREATE VIEW signer_tx AS
SELECT network AS chain_id, bytes(signer) AS signer, nonce, bytes(transaction_hash) AS tx_hash
FROM settler.signer_transaction;
CREATE VIEW foreign_tx AS -- used a nonce of ours, as an operator said and the chain has proven
SELECT network AS chain_id, bytes(transaction_hash) AS tx_hash FROM settler.foreign_transaction;
CREATE VIEW taken_payment AS -- an id that the Treasury took without us, as was said and proven
SELECT intent_id, network AS chain_id, paid_id, bytes(transaction_hash) AS tx_hash, outcome
FROM settler.taken_payment;
-- What left before a cap was set, or set anew, was held by another one.
CREATE VIEW outflow_cap AS
SELECT id, network AS chain_id, bytes(token) AS token, app_id, units, span AS win, set_at
FROM settler.outflow_cap WHERE units IS NOT NULL;
CREATE VIEW outflow AS -- an intent counts from the moment it got a slot; before that it queues
-- What another paid no cap let through.
SELECT c.id AS cap_id, i.id AS intent_id, i.slot_at,
       CASE WHEN c.token IS NULL THEN i.usd_micros ELSE i.base_units END AS amount
FROM settler.outflow_cap c
JOIN settler.intent i ON i.network = c.network AND (c.token IS NULL OR i.token = c.token)
  AND i.kind IN ('output', 'refuel', 'refund', 'claim', 'partner_fee') AND i.state <> 'dead'
LEFT JOIN settler.swap s ON s.id = i.swap_id
WHERE (c.app_id IS NULL OR c.app_id = coalesce(s.app_id, i.app_id)) AND i.slot_at > c.set_at
  AND NOT EXISTS (SELECT 1 FROM settler.outflow_pass p WHERE p.intent_id = i.id)
  AND NOT EXISTS (SELECT 1 FROM settler.taken_payment t WHERE t.intent_id = i.id);
CREATE VIEW authorization_ AS
SELECT intent_id AS id, swap_id, source_network AS chain_id, bytes(source_token) AS token,
       bytes(signer) AS signer, nonce, valid_before, a.status
FROM settler.gasless_authorization AS a JOIN settler.swap AS s ON s.id = a.swap_id
WHERE intent_id IS NOT NULL;

-- Messages
CREATE VIEW outbox AS
SELECT id, xid, topic, convert_from(key, 'UTF8') AS key,
       convert_from(payload, 'UTF8')::jsonb AS payload, created_at, published_at
FROM settler.outbox;
CREATE VIEW inbox AS SELECT consumer, message_id, state, at FROM settler.inbox;
CREATE VIEW endpoint AS
SELECT id, app_id, enabled_from, disabled_at, wants_updates FROM notifier.endpoint;
CREATE VIEW webhook_message AS
SELECT id, endpoint_id, swap_id, sequence AS seq, state, due_at AS next_attempt_at
FROM notifier.webhook_message;

-- What several invariants ask
-- A cancellation moves nothing. Below the start its block is final, and is not stored.
CREATE VIEW pruned_receipt AS
SELECT c.chain_id, c.tx_hash, c.block_hash, c.status
FROM receipt c JOIN watch_cursor w USING (chain_id)
WHERE c.block_number < w.start_number
  AND NOT EXISTS (SELECT 1 FROM chain_block b WHERE (b.chain_id, b.hash) = (c.chain_id, c.block_hash));
CREATE VIEW policy_final AS -- blocks final under the network's policy
SELECT b.chain_id, b.hash
FROM chain_block b JOIN watch_cursor c USING (chain_id) JOIN network n USING (chain_id)
WHERE b.state = 'canonical' AND (b.finalized OR c.number - b.number + 1 >= n.payout_confirmations)
UNION ALL SELECT chain_id, block_hash FROM pruned_receipt;
CREATE VIEW success AS -- canonical proof that an intent moved value
WITH sent AS (
  SELECT i.id AS intent_id, i.kind, i.paid_id, t.chain_id, t.tx_hash, t.is_cancel
  FROM intent i JOIN slot_intent s ON s.intent_id = i.id
  JOIN attempt t ON (t.chain_id, t.signer, t.nonce) = (s.chain_id, s.signer, s.nonce))
SELECT s.intent_id, s.chain_id, s.tx_hash, m.block_hash, m.id AS movement_id, m.token, m.to_addr,
       m.amount
FROM sent s
JOIN movement m ON m.kind = 'paid' AND (m.chain_id, m.tx_hash, m.paid_id) = (s.chain_id, s.tx_hash, s.paid_id)
JOIN chain_block b ON (b.chain_id, b.hash, b.state) = (m.chain_id, m.block_hash, 'canonical')
UNION ALL
SELECT s.intent_id, s.chain_id, s.tx_hash, c.block_hash, NULL, NULL, NULL, NULL
FROM sent s JOIN receipt c ON (c.chain_id, c.tx_hash) = (s.chain_id, s.tx_hash)
JOIN chain_block b ON (b.chain_id, b.hash, b.state) = (c.chain_id, c.block_hash, 'canonical')
WHERE c.status = 1 AND s.is_cancel = (s.kind = 'cancel')
UNION ALL
SELECT s.intent_id, s.chain_id, s.tx_hash, c.block_hash, NULL, NULL, NULL, NULL
FROM sent s JOIN pruned_receipt c ON (c.chain_id, c.tx_hash) = (s.chain_id, s.tx_hash)
WHERE c.status = 1 AND s.is_cancel = (s.kind = 'cancel')
UNION ALL -- made by what was not signed here
SELECT t.intent_id, t.chain_id, t.tx_hash, m.block_hash, m.id, m.token, m.to_addr, m.amount
FROM taken_payment t
JOIN movement m ON m.kind = 'paid' AND (m.chain_id, m.tx_hash, m.paid_id) = (t.chain_id, t.tx_hash, t.paid_id)
JOIN chain_block b ON (b.chain_id, b.hash, b.state) = (m.chain_id, m.block_hash, 'canonical')
WHERE t.outcome = 'made';
CREATE VIEW dead_slot AS -- consumed at a finalized block by something that cannot have paid
SELECT x.chain_id, x.signer, x.nonce FROM signer_tx x
WHERE NOT EXISTS (
  SELECT 1 FROM attempt t LEFT JOIN receipt c USING (chain_id, tx_hash)
  WHERE (t.chain_id, t.tx_hash) = (x.chain_id, x.tx_hash) AND NOT t.is_cancel
    AND c.status IS DISTINCT FROM 0);

-- The settler shows operators what an invariant finds (decision 0086).
GRANT USAGE ON SCHEMA invariant TO auditor, settler;
GRANT SELECT ON ALL TABLES IN SCHEMA invariant TO auditor, settler;
GRANT EXECUTE ON FUNCTION bytes TO auditor, settler;
