"""Every statement about incarnations and recoveries, and the conditions that hold payments."""

from typing import Final

from swap_runtime.postgres.sql import sql
from swap_settler.model.store.holds import HELD, held_swap

# Another restore forgets what the open recovery has proven.
SUPERSEDE: Final = sql("""
UPDATE recovery SET ended_at = now(), ended_by = 'settler', ended_because = 'another one began'
WHERE ended_at IS NULL
""")

# One process registers at a time; those that wait see what it has registered.
LOCK: Final = sql("SELECT pg_advisory_xact_lock(hashtextextended('settler.incarnation', 0))")
LAST: Final = sql("""
SELECT id, system_identifier, timeline, database_id, table_id, booted_at, uncompared
FROM incarnation ORDER BY id DESC LIMIT 1
""")
NOW: Final = sql("""
SELECT (pg_control_system()).system_identifier AS system_identifier,
       CAST(CAST('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8) AS bit(32)) AS int)
           AS timeline,
       (SELECT CAST(oid AS bigint) FROM pg_database WHERE datname = current_database())
           AS database_id,
       CAST(CAST(CAST('incarnation' AS regclass) AS oid) AS bigint) AS table_id,
       pg_postmaster_start_time() AS booted_at,
       EXISTS (SELECT FROM swap) OR EXISTS (SELECT FROM deposit)
           OR EXISTS (SELECT FROM nonce_slot) AS has_history
""")
REGISTER: Final = sql("""
INSERT INTO incarnation (
    system_identifier, timeline, database_id, table_id, booted_at, uncompared)
VALUES (:system_identifier, :timeline, :database_id, :table_id, :booted_at, :uncompared)
""")
COMPARED: Final = sql("""
UPDATE incarnation SET uncompared = :uncompared
WHERE id = (SELECT max(id) FROM incarnation)
""")
UNCOMPARED: Final = sql("""
SELECT unnest(uncompared) AS network, began_at AS since FROM incarnation
WHERE id = (SELECT max(id) FROM incarnation) ORDER BY network
""")
SIGNERS: Final = sql("SELECT network, address, next_nonce FROM signer ORDER BY network, address")
# Numbers that were handed out in the forgotten time were seen outside: none is given again.
SEQUENCES: Final = sql("""
SELECT quote_ident(schemaname) || '.' || quote_ident(sequencename) AS name FROM pg_sequences
WHERE schemaname = current_schema() ORDER BY sequencename
""")
RAISE_SEQUENCE: Final = sql("""
SELECT setval(CAST(:name AS regclass), nextval(CAST(:name AS regclass)) + :by)
""")
# The open one, or the newest that has ended. Run every second: it reads nothing but recoveries.
SHOWN: Final = sql("""
SELECT recovery.id, cause, reason, began_at, evidence, ended_at, ended_by, ended_because
FROM recovery ORDER BY ended_at IS NULL DESC, id DESC LIMIT 1
""")
# Reads all payments that wait: for reports, and for operators.
COUNT_HELD: Final = sql(f"""
SELECT (SELECT count(*) FROM intent WHERE state = 'reserved' AND {HELD})
    + (SELECT count(*) FROM refund_due WHERE {held_swap("refund_due.swap_id")})
""")
FINISH: Final = sql("""
UPDATE recovery SET ended_at = now(), ended_by = :by, ended_because = :reason
WHERE id = :id AND ended_at IS NULL AND evidence = :evidence
""")
# As model/ledger/ledger.py names what it books: the network, the id and the transaction.
UNEXPLAINED: Final = sql("""
WITH booked AS (
    SELECT DISTINCT split_part(paid.dedupe_key, '/', 2) AS network,
           CAST(split_part(paid.dedupe_key, '/', 3) AS numeric) AS paid_id,
           split_part(paid.dedupe_key, '/', 4) AS transaction_hash
    FROM account JOIN posting ON posting.account_id = account.id
    JOIN ledger_transaction AS paid ON paid.id = posting.transaction_id
    WHERE account.kind = 'payout_suspense' AND paid.kind = 'payout_unexplained')
SELECT * FROM booked WHERE NOT EXISTS (SELECT FROM taken_payment AS told
    WHERE (told.network, told.paid_id, told.transaction_hash)
        = (booked.network, booked.paid_id, booked.transaction_hash))
ORDER BY network, paid_id
""")
