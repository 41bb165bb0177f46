"""Every statement of the hot paths. Arrays in: their number never grows with the batch."""

from __future__ import annotations

from typing import Final

from swap_runtime.postgres.sql import sql

# Callers

FIND_CALLERS: Final = sql("""
SELECT api_key.hash, api_key.id AS key_id, api_key.app_id, api_key.kind, api_key.expires_at,
       app.environment, app.reads_per_minute, app.prices_per_minute, app.creates_per_minute,
       app.ceiling_factor, app.pending_swaps_max, app.limits_lifted, app.swap_lifetime,
       app.fee_basis_points
FROM api_key JOIN app ON app.id = api_key.app_id
WHERE api_key.hash = ANY(CAST(:hashes AS bytea[])) AND api_key.revoked_at IS NULL
""")
NOTE_USE: Final = sql("""
UPDATE api_key SET last_used_at = used.at
FROM unnest(CAST(:id AS uuid[]), CAST(:at AS timestamptz[])) AS used(id, at)
WHERE api_key.id = used.id AND (api_key.last_used_at IS NULL OR api_key.last_used_at < used.at)
""")

# Idempotency keys

# One that ran out is taken over; one that is old enough to be forgotten begins anew.
CLAIM: Final = sql("""
INSERT INTO idempotency AS held (app_id, key, body_hash, claim, claimed_until, created_at)
SELECT DISTINCT ON (new.app_id, new.key) new.*, CAST(:now AS timestamptz)
FROM unnest(CAST(:app_id AS uuid[]), CAST(:key AS text[]), CAST(:body_hash AS bytea[]),
            CAST(:claim AS uuid[]), CAST(:claimed_until AS timestamptz[]))
     AS new(app_id, key, body_hash, claim, claimed_until) ORDER BY new.app_id, new.key
ON CONFLICT (app_id, key) DO UPDATE SET
  body_hash = excluded.body_hash, claim = excluded.claim, claimed_until = excluded.claimed_until,
  created_at = excluded.created_at, swap_id = NULL, answer = NULL
WHERE held.created_at < CAST(:forgotten_before AS timestamptz)
   OR (held.answer IS NULL AND held.claimed_until < CAST(:now AS timestamptz))
RETURNING claim
""")
FIND_HELD: Final = sql("""
SELECT app_id, key, body_hash, claimed_until, answer FROM idempotency
JOIN unnest(CAST(:app_id AS uuid[]), CAST(:key AS text[])) AS wanted(app_id, key)
  USING (app_id, key)
""")
RELEASE_CLAIM: Final = sql("""
DELETE FROM idempotency
WHERE app_id = :app_id AND key = :key AND claim = :claim AND (answer IS NULL OR answer = '')
""")
# An empty answer is none yet, of something that is never done again.
BEGIN_CLAIM: Final = sql("""
UPDATE idempotency SET answer = ''
WHERE app_id = :app_id AND key = :key AND claim = :claim AND answer IS NULL
""")
FORGET_KEYS: Final = sql("""
DELETE FROM idempotency WHERE (app_id, key) IN (
  SELECT app_id, key FROM idempotency WHERE created_at < :before
  ORDER BY created_at LIMIT :limit FOR UPDATE SKIP LOCKED)
""")
# Refund addresses

# By the swap alone: an index of the app's swaps may be taken for both.
SOURCE_NETWORK: Final = sql("""
SELECT source_network FROM (
  SELECT source_network, app_id FROM swap WHERE id = :id OFFSET 0) AS found
WHERE app_id = :app_id
""")
# Shown at once; the settler's message follows and is the same for the first one.
SET_REFUND_ADDRESS: Final = sql("""
UPDATE swap SET refund_address = :refund_address WHERE id = :id AND refund_address IS NULL
""")
REFUND_ADDRESS: Final = sql("SELECT refund_address FROM swap WHERE id = :id")

ANSWER_CLAIM: Final = sql("""
UPDATE idempotency SET swap_id = :swap_id, answer = :answer
WHERE app_id = :app_id AND key = :key AND claim = :claim
""")
WHICH_HELD: Final = sql("""
SELECT held.claim FROM idempotency AS held
JOIN unnest(CAST(:app_id AS uuid[]), CAST(:key AS text[]), CAST(:claim AS uuid[]))
     AS mine(app_id, key, claim) USING (app_id, key, claim)
WHERE held.answer IS NULL
""")

# Signatures

SIGN = """
SELECT swap_id, signer, issue, standard, nonce, valid_after, valid_before, submission, is_refused
FROM sign_request
"""
SIGN_REQUESTS_OF: Final = sql(f"""
{SIGN} WHERE swap_id = :swap_id AND signer = :signer ORDER BY issue DESC LIMIT 5
""")
SIGN_REQUEST: Final = sql(
    f"{SIGN} WHERE swap_id = :swap_id AND signer = :signer AND issue = :issue"
)
COUNT_SIGNERS: Final = sql("""
SELECT count(DISTINCT signer) AS signers FROM sign_request WHERE swap_id = :swap_id
""")
LAST_SIGN_REQUEST: Final = sql(f"""
{SIGN} WHERE swap_id = :swap_id ORDER BY created_at DESC, issue DESC LIMIT 1
""")
LAST_SUBMISSION: Final = sql("""
SELECT submission, valid_before FROM sign_request
WHERE swap_id = :swap_id AND submission IS NOT NULL ORDER BY submission DESC LIMIT 1
""")
_NEW_SIGN_REQUEST: Final = """
INSERT INTO sign_request (swap_id, signer, issue, standard, nonce, valid_after, valid_before)
"""
ADD_SIGN_REQUEST: Final = sql(
    _NEW_SIGN_REQUEST
    + """
VALUES (:swap_id, :signer, :issue, :standard, CAST(:nonce AS numeric), :valid_after, :valid_before)
ON CONFLICT DO NOTHING
"""
)
REFUSE_SIGN_REQUEST: Final = sql("""
UPDATE sign_request SET is_refused = true
WHERE swap_id = :swap_id AND signer = :signer AND issue = :issue AND submission IS NULL
""")
SUBMIT_SIGN_REQUEST: Final = sql("""
UPDATE sign_request SET submission = :submission, is_refused = false, submitted_at = now()
WHERE swap_id = :swap_id AND signer = :signer AND issue = :issue
""")
LOCK_GASLESS: Final = sql("SELECT gasless FROM swap WHERE id = :swap_id FOR UPDATE")

# Swaps

_COLUMNS: Final = """id, app_id, sequence_number, sequence, status, client, is_unpaid,
  source_network, destination_network, source_address, destination_address, refund_address,
  reference_id, created_at, expires_at, document, gaps, action, step_status, gasless,
  deposit_address, closed_at, value_usd_micros"""
_ARRAYS: Final = """CAST(:id AS uuid[]), CAST(:app_id AS uuid[]),
  CAST(:sequence_number AS bigint[]),
  CAST(:sequence AS int[]), CAST(:status AS text[]), CAST(:client AS text[]),
  CAST(:is_unpaid AS bool[]), CAST(:source_network AS text[]),
  CAST(:destination_network AS text[]), CAST(:source_address AS text[]),
  CAST(:destination_address AS text[]), CAST(:refund_address AS text[]),
  CAST(:reference_id AS text[]), CAST(:created_at AS timestamptz[]),
  CAST(:expires_at AS timestamptz[]), CAST(:document AS bytea[]), CAST(:gaps AS text[]),
  CAST(:action AS bytea[]), CAST(:step_status AS text[]),
  CAST(:gasless AS text[]), CAST(:deposit_address AS text[]),
  CAST(:closed_at AS timestamptz[]), CAST(:value_usd_micros AS numeric[])"""
UPSERT_SWAPS: Final = sql(
    f"""
INSERT INTO swap ({_COLUMNS})
SELECT * FROM unnest({_ARRAYS})
ON CONFLICT (id) DO UPDATE SET
  sequence = excluded.sequence, status = excluded.status, is_unpaid = excluded.is_unpaid,
  source_address = coalesce(excluded.source_address, swap.source_address),
  refund_address = coalesce(excluded.refund_address, swap.refund_address),
  expires_at = excluded.expires_at,
  document = excluded.document,
  gaps = excluded.gaps, action = excluded.action, step_status = excluded.step_status,
  gasless = excluded.gasless, deposit_address = excluded.deposit_address,
  closed_at = excluded.closed_at, value_usd_micros = excluded.value_usd_micros
WHERE excluded.sequence > swap.sequence
"""
)
# All that creations leave behind, in one statement that is their transaction. Nothing is created by
# who lost its claim meanwhile (claims are locked in order), nor for an address that is a swap's
# own; and what was not created is neither announced nor answered.
CREATE_SWAPS: Final = sql(f"""
WITH held AS (
  SELECT theirs.claim FROM idempotency AS theirs
  JOIN unnest(CAST(:claim_app_id AS uuid[]), CAST(:claim_key AS text[]), CAST(:claim AS uuid[]))
       AS mine(app_id, key, claim) USING (app_id, key, claim)
  WHERE theirs.answer IS NULL ORDER BY theirs.app_id, theirs.key FOR UPDATE OF theirs
), added AS (
  INSERT INTO swap ({_COLUMNS})
  SELECT {_COLUMNS}
  FROM unnest({_ARRAYS}, CAST(:claim_of AS uuid[])) AS new({_COLUMNS}, claim)
  WHERE (new.claim IS NULL OR new.claim IN (SELECT held.claim FROM held))
    AND NOT EXISTS (
      SELECT FROM swap AS own WHERE own.deposit_address = ANY(
        ARRAY[new.destination_address, new.source_address, new.refund_address]))
  ON CONFLICT DO NOTHING RETURNING id
), signing AS (
  {_NEW_SIGN_REQUEST}
  SELECT * FROM unnest(
    CAST(:swap_id AS uuid[]), CAST(:signer AS text[]), CAST(:issue AS int[]),
    CAST(:standard AS text[]), CAST(:nonce AS numeric[]), CAST(:valid_after AS bigint[]),
    CAST(:valid_before AS bigint[])) AS new(swap_id)
  WHERE new.swap_id = ANY(ARRAY(SELECT id FROM added))
), answered AS (
  UPDATE idempotency SET swap_id = mine.swap_id, answer = mine.answer
  FROM unnest(CAST(:claim_app_id AS uuid[]), CAST(:claim_key AS text[]), CAST(:claim AS uuid[]),
              CAST(:answered_id AS uuid[]), CAST(:answer AS bytea[]))
       AS mine(app_id, key, claim, swap_id, answer)
  WHERE idempotency.app_id = mine.app_id AND idempotency.key = mine.key
    AND idempotency.claim = mine.claim AND mine.swap_id = ANY(ARRAY(SELECT id FROM added))
), announced AS (
  INSERT INTO outbox (message_id, topic, key, payload)
  SELECT new.message_id, new.topic, new.key, new.payload
  FROM unnest(CAST(:message_id AS uuid[]), CAST(:topic AS text[]), CAST(:key AS bytea[]),
              CAST(:payload AS bytea[]), CAST(:id AS uuid[]))
       WITH ORDINALITY AS new(message_id, topic, key, payload, swap_id, n)
  WHERE new.swap_id = ANY(ARRAY(SELECT id FROM added)) ORDER BY new.n
)
SELECT id FROM added
""")
ADD_HASHES: Final = sql("""
INSERT INTO transaction_hash (app_id, hash, swap_id)
SELECT DISTINCT * FROM unnest(
  CAST(:app_id AS uuid[]), CAST(:hash AS text[]), CAST(:swap_id AS uuid[])) AS new
ORDER BY 1, 2, 3
ON CONFLICT DO NOTHING
""")
OWN_ADDRESSES: Final = sql("""
SELECT deposit_address FROM swap WHERE deposit_address = ANY(CAST(:addresses AS text[]))
""")
WHICH_EXIST: Final = sql("SELECT id FROM swap WHERE id = ANY(CAST(:ids AS uuid[]))")

SHOWN: Final = "id, app_id, expires_at, document, gaps, action, step_status, gasless"
# How far a swap is here and at the settler: what is between them is on its way. A scalar, so that
# each is looked up by its key.
COMPARED: Final = """
s.sequence, (SELECT sequence FROM settler.swap_told WHERE swap_id = s.id) AS decided"""
FIND_SWAPS: Final = sql(
    f"SELECT {SHOWN}, {COMPARED} FROM swap AS s WHERE id = ANY(CAST(:ids AS uuid[]))",
)
FIND_BY_HASH: Final = sql(
    f"""
SELECT DISTINCT ON (t.app_id, t.hash) t.app_id, t.hash, s.id, s.expires_at, s.document, s.gaps,
       s.action, s.step_status, s.gasless, {COMPARED}
FROM unnest(CAST(:app_id AS uuid[]), CAST(:hash AS text[])) AS wanted(app_id, hash)
JOIN transaction_hash AS t USING (app_id, hash) JOIN swap AS s ON s.id = t.swap_id
ORDER BY t.app_id, t.hash, s.created_at DESC
""",
)
# Two statements: the index does not serve IS NOT DISTINCT FROM. The second asks for the index's
# order, so that no other is taken, by which all of the app's swaps would be read.
COUNT_UNPAID_OF_CLIENT: Final = sql("""
SELECT count(*) FROM (
  SELECT FROM swap WHERE app_id = :app_id AND client = :client AND is_unpaid
  LIMIT :up_to) AS counted
""")
COUNT_UNPAID_OF_APP: Final = sql("""
SELECT count(*) FROM (
  SELECT FROM swap WHERE app_id = :app_id AND client IS NULL AND is_unpaid
  ORDER BY client LIMIT :up_to) AS counted
""")
COUNT_OPEN_ADDRESSES: Final = sql("""
SELECT count(*) FROM (
  SELECT FROM swap WHERE source_network = :network AND is_unpaid AND deposit_address IS NOT NULL
  ORDER BY source_network LIMIT :up_to) AS counted
""")
COUNT_OPEN_ADDRESSES_OF_APP: Final = sql("""
SELECT count(*) FROM (
  SELECT FROM swap WHERE source_network = :network AND app_id = :app_id AND is_unpaid
    AND deposit_address IS NOT NULL
  ORDER BY source_network, app_id LIMIT :up_to) AS counted
""")
HEADS: Final = sql("SELECT network, block_number FROM chain_watcher.progress")

# History, from the settler's views

EVENTS: Final = sql("""
SELECT swap_id, sequence, from_status, to_status, at FROM settler.swap_event
WHERE swap_id = ANY(CAST(:ids AS uuid[])) ORDER BY swap_id, sequence
""")
POSTINGS: Final = sql("""
SELECT transaction_id, reason, at, network, block_number, account, asset_network, asset_token,
       base_units
FROM settler.swap_posting WHERE swap_id = :id ORDER BY at, transaction_id, n
""")

# States of networks of two services; each row is there without the other.

NETWORK_STATES: Final = sql("""
SELECT network, progress.block_number, progress.block_time, state.tokens, state.payable_tokens,
       state.stuck, state.is_stopped OR halt.network IS NOT NULL AS is_stopped,
       coalesce(withheld.deposits, 0) AS withheld
FROM chain_watcher.progress AS progress
FULL JOIN settler.network_state AS state USING (network)
LEFT JOIN chain_watcher.halted_network AS halt USING (network)
LEFT JOIN chain_watcher.withheld_deposits AS withheld USING (network)
""")
ONE_PROVIDER_CAPS: Final = sql("""
SELECT network, token, cap_base_units, used_base_units FROM chain_watcher.one_provider_exposure
ORDER BY network, token
""")
STOPPED_NETWORKS: Final = sql("SELECT network FROM settler.stopped_network")
STOPPED_SOURCES: Final = sql("SELECT network FROM settler.stopped_source")
HALTED_NETWORKS: Final = sql("SELECT network FROM chain_watcher.halted_network")
