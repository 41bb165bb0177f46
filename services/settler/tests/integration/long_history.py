"""A settler's tables after a long time: thousands of ended swaps, and a few open ones.

All rows are of one network, one token and one signer, as on the network with most payments.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import md5
from typing import Final
from uuid import UUID

from services.settler.tests.factories import ETHEREUM as NETWORK
from services.settler.tests.factories import SIGNER, USDC
from services.settler.tests.integration.conftest import TABLES, WATCHED_TABLES
from swap_runtime.postgres.database import Engine
from tests.plugins.plans import History

TOKEN: Final = USDC[NETWORK]
APP: Final = UUID(int=7)
OPEN: Final = range(1, 6)
OVER: Final = range(1001, 6001)
FIRST_NONCE_OPEN: Final = 1_000_000  # open rows are the newest

_N: Final = "FROM generate_series(CAST(:first AS int), CAST(:last AS int)) AS n"
_EACH: Final = f"{_N} WHERE n % {{}} = 0"
_LONG_AGO: Final = "now() - interval '30 days' + n * interval '1 second'"
_BEFORE: Final = "now() - interval '90 days' + n * interval '1 second'"
_NONCE: Final = f"CASE WHEN n <= {OPEN[-1]} THEN {FIRST_NONCE_OPEN} + n ELSE n END"


def _id(kind: str) -> str:
    return f"CAST(md5('{kind} ' || n) AS uuid)"


def _intent(
    kind: str, *, name: str, state: str, paid_id: str = "NULL", more: str = "", rows: str = _N
) -> str:
    """Return the insertion of an intent per swap; `more`: further columns with their values."""
    values = {
        "id": _id(name),
        "kind": f"'{kind}'",
        "state": state,
        "paid_id": paid_id,
        "swap_id": _id("swap") if kind in ("output", "gasless") else "NULL",
        "network": f"'{NETWORK}'",
        "token": f"'{TOKEN}'",
        "to_address": "'to ' || n",
        "base_units": "1",
        "due_at": _LONG_AGO,
        "created_at": _LONG_AGO,
        "slot_at": _LONG_AGO,
        "transaction_hash": f"CASE WHEN {state} IN ('mined', 'confirmed') THEN 'tx' || n END",
        "block_number": f"CASE WHEN {state} IN ('mined', 'confirmed') THEN n END",
        "dead_proof": f"CASE WHEN {state} = 'dead' THEN CAST('{{}}' AS jsonb) END",
    } | dict(part.split("=", 1) for part in more.split(";") if part)
    return f"INSERT INTO intent ({', '.join(values)}) SELECT {', '.join(values.values())} {rows}"


SWAPS: Final = (
    f"""
INSERT INTO swap (id, app_id, sequence_number, match_key, sequence, status, method,
    source_network, source_token, source_decimals, destination_network, destination_token,
    destination_decimals, destination_address, requested_base_units, payout_base_units,
    fee_base_units, quote, quote_expires_at, created_at, expires_at, changed_at, trace_id)
SELECT {_id("swap")}, '{APP}', n, 'key ' || n, 3,
    CASE n WHEN 1 THEN 'user_transfer_pending' WHEN 2 THEN 'ls_transfer_pending'
        WHEN 3 THEN 'ls_transfer_pending' WHEN 4 THEN 'pending_refund' ELSE 'completed' END,
    'gasless', '{NETWORK}', '{TOKEN}', 6, '{NETWORK}', '{TOKEN}', 6, 'to ' || n, 1, 1, 0,
    '{{"source_usd_e18": "1", "source_native_usd_e18": "1"}}', {_LONG_AGO}, {_LONG_AGO},
    {_LONG_AGO}, {_LONG_AGO}, 'trace'
{_N}
""",
    f"""
INSERT INTO swap_transition (swap_id, sequence, from_status, to_status, at)
SELECT {_id("swap")}, step, 'before', 'after', {_LONG_AGO} {_N}, generate_series(1, 3) AS step
""",
    f"""
INSERT INTO deposit (id, swap_id, match_key, version, state, method, network, token, base_units,
    is_booked, transaction_hash, block_number, block_hash, block_time, from_address, to_address,
    confirmations_required, sequence_number, heard_at)
SELECT {_id("deposit")}, {_id("swap")}, 'key ' || n, 2, 'credited', 'deposit_address',
    '{NETWORK}', '{TOKEN}', 1, true, 'paid' || n, n, 'block' || n, now(), 'from ' || n, 'at ' || n,
    1, n, now() {_N}
""",
    f"""
INSERT INTO deposit (id, match_key, version, state, method, network, token, base_units, is_booked,
    transaction_hash, block_number, block_hash, block_time, to_address, confirmations_required,
    heard_at)
SELECT {_id("nobodys")}, 'nobody ' || n, 2, 'credited', 'direct', '{NETWORK}', '{TOKEN}', 1, true,
    'lone' || n, n, 'block' || n, now(), 'treasury', 1, now() {_EACH.format(2)}
""",
)
INTENTS: Final = (
    _intent(
        "output",
        name="output",
        paid_id="n",
        state="CASE n WHEN 2 THEN 'reserved' WHEN 3 THEN 'assigned' WHEN 4 THEN 'broadcast'"
        " ELSE 'confirmed' END",
    ),
    _intent("output", name="dead", paid_id="n", state="'dead'"),
    _intent(
        "gasless",
        name="relay",
        state="CASE WHEN n = 1 THEN 'assigned' WHEN n = 5 THEN 'reserved'"
        " WHEN n % 2 = 0 THEN 'dead' ELSE 'confirmed' END",
        more=f"payer='user ' || n;call_data='call';not_after={_LONG_AGO}",
    ),
    _intent(
        "sweep",
        name="sweep",
        state="CASE n WHEN 2 THEN 'mined' WHEN 3 THEN 'reserved' WHEN 4 THEN 'assigned'"
        " ELSE 'confirmed' END",
    ),
    _intent(
        "claim",
        name="claim",
        paid_id="1000000 + n",
        state="'confirmed'",
        more=f"deposit_id={_id('nobodys')}",
        rows=_EACH.format(10),
    ),
    _intent(
        "partner_fee",
        name="fee",
        paid_id="2000000 + n",
        state="'confirmed'",
        more="app_id=CAST(md5('app ' || n / 10 % 5) AS uuid)",
        rows=_EACH.format(10),
    ),
    f"""
INSERT INTO gasless_authorization (swap_id, submission, intent_id, standard, signer, base_units,
    nonce, valid_after, valid_before, status, submitted_at)
SELECT {_id("swap")}, 1, {_id("relay")}, 'eip3009', 'user ' || n, 1, 'nonce' || n, 0, 1,
    'Completed', now() {_N}
""",
)
LANE: Final = (
    f"""
INSERT INTO nonce_slot (network, signer, nonce, assigned_at, closed_at)
SELECT '{NETWORK}', '{SIGNER}', {_NONCE}, {_LONG_AGO},
    CASE WHEN n > {OPEN[-1]} THEN now() END {_N}
""",
    *(
        f"""
INSERT INTO slot_intent (network, signer, nonce, intent_id)
SELECT '{NETWORK}', '{SIGNER}', {_NONCE}, {_id(kind)} {_N}
"""
        for kind in ("output", "dead", "relay", "sweep")
    ),
    f"""
INSERT INTO attempt (transaction_hash, network, signer, nonce, raw, max_fee_per_gas,
    max_priority_fee_per_gas, signed_at, first_sent_at, last_sent_at)
SELECT 'tx' || n || ' ' || try, '{NETWORK}', '{SIGNER}', {_NONCE}, 'x', 1, 1, {_LONG_AGO}, now(),
    {_LONG_AGO} {_N}, generate_series(1, 2) AS try WHERE n NOT IN (1, 5)
""",
    f"""
INSERT INTO receipt (network, transaction_hash, block_hash, block_number, status, fee_base_units)
SELECT '{NETWORK}', 'tx' || n || ' 2', 'block' || n, n, 1, 1 {_N} WHERE n > {OPEN[-1]}
""",
    f"""
INSERT INTO signer_transaction (network, signer, nonce, transaction_hash)
SELECT '{NETWORK}', '{SIGNER}', n, 'tx' || n || ' 2' {_N} WHERE n > {OPEN[-1]}
""",
)
SWEEPS: Final = (
    f"""
INSERT INTO deposit_address (network, address, sequence_number, swap_id)
SELECT '{NETWORK}', 'at ' || n, n, {_id("swap")} {_N}
""",
    f"""
INSERT INTO swept (id, version, state, is_booked, network, token, from_address, base_units,
    transaction_hash, block_number, block_hash, block_time, is_nobodys)
SELECT {_id("swept")}, 2, 'confirmed', n > 3, '{NETWORK}', '{TOKEN}', 'at ' || n, 1,
    'tx' || n || ' 2', n, 'block' || n, now(), n % 10 = 0 {_N}
""",
    f"""
INSERT INTO sweep (intent_id, network, address, token, sequence_number)
SELECT {_id("sweep")}, '{NETWORK}', 'at ' || n, '{TOKEN}', n {_N}
""",
    f"""
INSERT INTO withdrawal (id, version, state, is_booked, network, token, treasury, to_address,
    base_units, transaction_hash, block_number, block_hash, block_time)
SELECT {_id("withdrawal")}, 2, 'confirmed', n > 3, '{NETWORK}', '{TOKEN}', 'treasury', 'owner', 1,
    'taken' || n, n, 'block' || n, now() {_N}
""",
)
LEDGER: Final = (
    f"""
INSERT INTO account (kind, network, token, swap_id, address, holder)
SELECT kind, '{NETWORK}', '{TOKEN}', CASE WHEN kind <> 'custody' THEN {_id("swap")} END,
    CASE kind WHEN 'custody' THEN 'at ' || n END,
    CASE kind WHEN 'custody' THEN 'deposit_address' END
{_N}, unnest(ARRAY['custody', 'swap_liability', 'in_flight', 'loss', 'claimable']) AS kind
""",
    f"""
INSERT INTO account (kind, network, token, address, holder)
SELECT 'custody', '{NETWORK}', '{TOKEN}', 'treasury', 'treasury' ON CONFLICT DO NOTHING
""",
    f"""
INSERT INTO account (kind, network, token, app_id)
SELECT 'partner_fee', '{NETWORK}', '{TOKEN}', CAST(md5('app ' || n / 10 % 5) AS uuid)
{_EACH.format(10)} ON CONFLICT DO NOTHING
""",
    f"""
WITH written AS (
    INSERT INTO ledger_transaction (id, kind, swap_id, dedupe_key, at)
    SELECT {_id("entry")}, 'lost', {_id("swap")}, 'entry ' || n, {_LONG_AGO} {_N} RETURNING *)
INSERT INTO posting (transaction_id, n, account_id, base_units)
SELECT {_id("entry")}, 1, own.id, 1
{_N}, LATERAL (
    SELECT id FROM account WHERE kind = 'loss' AND swap_id = {_id("swap")} OFFSET 0) AS own
UNION ALL
SELECT {_id("entry")}, 2, (SELECT id FROM account WHERE address = 'treasury'), -1 {_N}
""",
)
OPERATORS: Final = (
    f"""
INSERT INTO payout_stop (network, stopped_at, stopped_by, stopped_because, lifted_at, lifted_by,
    lifted_because)
SELECT '{NETWORK}', {_BEFORE}, 'me', 'so', {_BEFORE}, 'me', 'so' {_EACH.format(10)}
""",
    f"""
INSERT INTO source_stop (network, stopped_at, stopped_because, lifted_at, lifted_by, lifted_because)
SELECT '{NETWORK}', {_BEFORE}, 'so', {_BEFORE}, 'me', 'so' {_EACH.format(10)}
""",
    f"""
INSERT INTO network_silence (network, began_at, ended_at)
SELECT '{NETWORK}', {_BEFORE}, {_BEFORE} {_EACH.format(10)}
""",
    f"""
INSERT INTO blocked_address (address, blocked_by, blocked_because, lifted_at, lifted_by,
    lifted_because)
SELECT 'somebody ' || n, 'me', 'so', now(), 'me', 'so' {_EACH.format(10)}
""",
    f"""
INSERT INTO rescued_token (network, transaction_hash, token, from_address, to_address, base_units,
    returned_to, ordered_by, ordered_because)
SELECT '{NETWORK}', 'rescued' || n, 'token', 'from', 'to', 1, 'to', 'me', 'so' {_EACH.format(10)}
""",
    f"""
INSERT INTO outflow_pass (intent_id, network, passed_by, passed_because, is_used)
SELECT {_id("output")}, '{NETWORK}', 'me', 'so', true {_EACH.format(10)}
""",
    f"""
INSERT INTO outflow_counted (intent_id, cap_id, until, amount)
SELECT {_id("output")}, cap.id, now() + interval '1 hour', 1 {_N}, outflow_cap AS cap
""",
)
MESSAGES: Final = (
    f"""
INSERT INTO inbox (consumer, message_id) SELECT 'settler', {_id("message")} {_N}
""",
    f"""
INSERT INTO parked (consumer, topic, key, value, partition, "offset", message_id, reason, is_behind,
    state, ended_at)
SELECT 'settler', 'deposit.changed.v1', convert_to(CAST({_id("deposit")} AS text), 'UTF8'), 'value',
    0, n, {_id("message")}, 'so', false, CASE WHEN n > 1 THEN 'released' ELSE 'parked' END, now()
{_N} WHERE n % 10 = 0 OR n = 1
""",
    """
INSERT INTO watermark (consumer, source, topic, xid, id)
SELECT 'settler', 'chain_watcher', topic, xid, id FROM (SELECT DISTINCT ON (topic) topic, xid, id
    FROM chain_watcher.outbox ORDER BY topic, xid DESC, id DESC) AS newest
ON CONFLICT (consumer, source, topic) DO UPDATE SET xid = excluded.xid, id = excluded.id
""",
)
# Runs once before the rest; due and waiting rows are among the open ones.
BEGINNING: Final = (
    # So that the first account has the first id, after earlier rollbacks.
    """
SELECT setval(pg_get_serial_sequence(table_name, column_name), 1, false)
FROM information_schema.columns WHERE table_schema = current_schema() AND is_identity = 'YES'
""",
    f"""
INSERT INTO outflow_cap (network, units, span, set_by, set_because)
VALUES ('{NETWORK}', 1000, '1 day', 'me', 'so')
""",
    f"INSERT INTO signer (network, address, next_nonce) VALUES ('{NETWORK}', '{SIGNER}', 1000006)",
    f"INSERT INTO ledger_cursor VALUES ('{NETWORK}', 1)",
    f"INSERT INTO inventory (network, token) VALUES ('{NETWORK}', '{TOKEN}')",
)
DUE: Final = (
    f"INSERT INTO refund_due (network, swap_id) SELECT '{NETWORK}', {_id('swap')} {_N}",
    f"INSERT INTO requote_due (swap_id) SELECT {_id('swap')} {_N}",
    f"INSERT INTO completion_due (swap_id, due_at) SELECT {_id('swap')}, now() {_N}",
    f"""
INSERT INTO sweep_due (network, address, token) SELECT '{NETWORK}', 'at ' || n, '{TOKEN}' {_N}
""",
    f"""
INSERT INTO outflow_queue (intent_id, cap_id, network, token, created_at, amount, is_too_large)
SELECT {_id("output")}, line.cap_id, '{NETWORK}', '{TOKEN}', now(), 1, line.is_too_large
{_N}, (SELECT id AS cap_id, false AS is_too_large FROM outflow_cap UNION ALL SELECT NULL, true)
    AS line
""",
    f"""
INSERT INTO outflow_spent (cap_id, until, spent)
SELECT id, now() + n * interval '1 minute', 1 {_N}, outflow_cap
""",
)
WATCHED: Final = (
    f"""
INSERT INTO outbox (message_id, topic, key, payload)
SELECT {_id("message")}, CASE n % 2 WHEN 0 THEN 'deposit.changed.v1' ELSE 'payout.changed.v1' END,
    'key', 'value' {_N}
""",
    f"""
INSERT INTO past_halt (network, halted_at, resumed_at, reason)
SELECT '{NETWORK}', {_BEFORE}, {_BEFORE}, 'so' {_EACH.format(10)}
""",
    f"""
INSERT INTO watch_cursor (network, number, hash, parent_hash, time, finalized_number, start_number,
    checked_number, last_outbox_id)
SELECT '{NETWORK}', 9, '0x1', '0x2', now(), 9, 0, 0, max(id) FROM outbox
ON CONFLICT (network) DO UPDATE SET last_outbox_id = excluded.last_outbox_id
""",
)
PAST: Final = (*SWAPS, *INTENTS, *LANE, *SWEEPS, *LEDGER, *OPERATORS, *MESSAGES)


def ids(kind: str, numbers: Sequence[int]) -> list[UUID]:
    """Return the ids that the statements above give the rows of a kind."""
    names = (f"{kind} {n}".encode() for n in numbers)
    return [UUID(md5(name, usedforsecurity=False).hexdigest()) for name in names]


def what_is_open() -> Sequence[str]:
    """Return the statements that write the open swaps into empty tables."""
    return (*BEGINNING, *_of(PAST, OPEN), *_of(DUE, OPEN))


def history(engine: Engine) -> History:
    """Return the open and the ended swaps."""
    return History(engine, TABLES, (*what_is_open(), *_of(PAST, OVER)))


def watched_history(watcher: Engine) -> History:
    """Return the chain-watcher's rows about them that the settler reads."""
    return History(watcher, WATCHED_TABLES, (*_of(WATCHED, OPEN), *_of(WATCHED, OVER)))


def _of(statements: Sequence[str], numbers: range) -> list[str]:
    first, last = str(numbers[0]), str(numbers[-1])
    return [text.replace(":first", first).replace(":last", last) for text in statements]
