"""Copies sample swaps by SQL: a few rows from the use cases become a long history.

A copy differs from its sample only in ids, hashes, nonces, blocks and times. Of `total` swaps, a
swap with a smaller number `n` is older; the last twentieth is open. The number of open swaps that
are being paid is the same in both histories, so that rare rows are equally rare in both.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, NamedTuple

import psycopg
from psycopg import sql

OPEN_SHARE: Final = 20  # one swap in this many is open
PAYING: Final = 50  # swaps in every history
BLOCK_SWAPS: Final = 10  # swaps that share a block
FIRST_BLOCK: Final = 1000
# The offset of accounts and sequence numbers of copies; those of the samples are smaller.
STRIDE: Final = 1000
FIRST_NUMBER: Final = 10_000_000
HISTORY: Final = "interval '60 days'"
YOUNGEST_CLOSED: Final = "interval '6 hours'"
OLDEST_OPEN: Final = "interval '5 hours'"


class SampledTable(NamedTuple):
    """A table with rows of sample swaps; rows that are `retained` are newer than that."""

    name: str
    own: str = "true"  # the condition of a swap's rows
    retained: str | None = None


WEEK, MONTH = "interval '6 days 23 hours'", "interval '29 days'"
TABLES: Final = (
    SampledTable(
        "settler.posting",
        "transaction_id IN (SELECT id FROM sample.settler_ledger_transaction)",
    ),
    SampledTable("settler.account", "swap_id IS NOT NULL"),
    SampledTable("api.swap"),
    SampledTable(
        "chain_watcher.movement",
        "id NOT IN (SELECT id FROM settler.deposit WHERE swap_id IS NULL)",
    ),
    SampledTable("settler.swap"),
    SampledTable("settler.swap_transition"),
    SampledTable("settler.ledger_transaction", "swap_id IS NOT NULL"),
    SampledTable("settler.intent"),
    SampledTable("settler.deposit", "swap_id IS NOT NULL"),
    SampledTable("settler.attempt"),
    SampledTable("settler.nonce_slot"),
    SampledTable("settler.slot_intent"),
    SampledTable("settler.receipt"),
    SampledTable("settler.signer_transaction"),
    SampledTable("api.transaction_hash"),
    SampledTable("notifier.webhook_message", retained=MONTH),
    SampledTable("notifier.delivery_attempt", retained=MONTH),
    SampledTable("settler.outbox", retained=WEEK),
    SampledTable("settler.inbox", retained=WEEK),
    SampledTable("api.inbox", retained=WEEK),
    SampledTable("notifier.inbox", retained=WEEK),
)  # fmt: skip
# Rows leave their tables in this order, because `own` looks up rows of later tables.
STASHED: Final = sorted(TABLES, key=lambda table: table.name == "settler.posting")

FUNCTIONS: Final = """
CREATE FUNCTION sample.hash(text, bigint) RETURNS text LANGUAGE sql IMMUTABLE
RETURN '0x' || md5($1 || $2) || md5($2 || $1);
CREATE FUNCTION sample.address(bigint) RETURNS text LANGUAGE sql IMMUTABLE
RETURN '0x00000000' || md5(($1 / 10)::text);
"""
# The offset of each sample's start from the first one; without it copies would be out of order.
BEGINS: Final = """
SELECT sample, min(created_at) - min(min(created_at)) OVER () AS later
FROM sample.api_swap GROUP BY sample
"""
_BLOCK: Final = f"{FIRST_BLOCK} + g.n / {BLOCK_SWAPS}"
# The values of a copy, by column name.
BY_NAME: Final = {
    "app_id": "o.{c}",
    "endpoint_id": "o.{c}",
    "consumer": "o.{c}",
    "topic": "o.{c}",
    "paid_id": "o.{c} + g.n",
    "sequence_number": f"{FIRST_NUMBER} + g.n",
    "match_key": "o.{c} || '/' || g.n",
    "dedupe_key": "o.{c} || '/' || g.n",
    "reference_id": "'order ' || g.n",
    "nonce": "g.n / 19 * 12 + g.n % 19",
    "block_number": _BLOCK,
    "effective_block": f"CASE WHEN o.{{c}} IS NOT NULL THEN {_BLOCK} END",
    "block_hash": f"sample.hash(o.network, {_BLOCK})",
    "transaction_hash": "sample.hash(o.{c}, g.n)",
    "hash": "sample.hash(o.{c}, g.n)",
    "destination_address": "sample.address(g.n)",
}
BY_TABLE: Final = {
    "settler.account.id": f"o.id + (g.n + 1) * {STRIDE}",
    "settler.intent.to_address": "sample.address(g.n)",
    "settler.intent.block_number": f"CASE WHEN o.{{c}} IS NOT NULL THEN {_BLOCK} END",
    "settler.intent.block_hash": "CASE WHEN o.{c} IS NOT NULL"
    f" THEN sample.hash(o.network, {_BLOCK}) END",
    "settler.posting.account_id": "CASE WHEN o.account_id IN ({own_accounts})"
    f" THEN o.account_id + (g.n + 1) * {STRIDE} ELSE o.account_id END",
    "chain_watcher.movement.to_address": "CASE o.kind WHEN 'paid' THEN sample.address(g.n)"
    " ELSE o.to_address END",
    "settler.outbox.key": "CASE o.topic WHEN 'swap.changed.v1' THEN convert_to(md5("
    "convert_from(o.key, 'UTF8') || g.n)::uuid::text, 'UTF8') ELSE o.key END",
    "notifier.webhook_message.id": "'msg_' || md5(o.id || g.n)",
    "notifier.delivery_attempt.message_id": "'msg_' || md5(o.message_id || g.n)",
}  # fmt: skip
BY_TYPE: Final = {
    "uuid": "md5(o.{c}::text || g.n)::uuid",
    "timestamptz": "o.{c} - begins.later - g.age",
}


@dataclass(frozen=True, slots=True)
class Shape:
    """The number of swaps, and the closed ones among them."""

    total: int

    @property
    def closed(self) -> int:
        return self.total - self.total // OPEN_SHARE

    @property
    def _stride(self) -> int:
        return max(1, (self.total - self.closed) // PAYING)

    def copies(self) -> str:
        """Return the query of all copies, oldest first: number, age, and sample."""
        return f"""
SELECT n,
    CASE WHEN n < {self.closed}
        THEN {YOUNGEST_CLOSED} + {HISTORY} * ({self.closed} - n) / {self.closed}
        ELSE {OLDEST_OPEN} * ({self.total} - n) / {self.total - self.closed} END AS age,
    CASE WHEN n < {self.closed} AND n % 19 < 12 THEN 'completed'
        WHEN n < {self.closed} THEN 'expired'
        WHEN n % {self._stride} = 0 THEN 'paying'
        ELSE 'waiting' END AS sample
FROM generate_series(0::bigint, {self.total - 1}) AS n"""


def stash(connection: psycopg.Connection, sample: str) -> None:
    """Move the rows that the use cases just wrote into the schema of the samples."""
    connection.execute("SET session_replication_role = replica")
    for table in STASHED:
        there = sql.SQL("sample.{}").format(sql.Identifier(table.name.replace(".", "_")))
        here, own = sql.SQL(table.name), sql.SQL(table.own)
        connection.execute(
            sql.SQL("CREATE TABLE IF NOT EXISTS {} AS SELECT ''::text AS sample, * FROM {} LIMIT 0")
            .format(there, here)
        )  # fmt: skip
        connection.execute(
            sql.SQL("INSERT INTO {} SELECT {}, * FROM {} WHERE {}").format(
                there, sql.Literal(sample), here, own
            )
        )
        connection.execute(sql.SQL("DELETE FROM {} WHERE {}").format(here, own))
    connection.execute("SET session_replication_role = origin")


def copy_samples(url: str, shape: Shape, report: Callable[[str], None]) -> None:
    """Fill the tables with copies of the samples, two tables in parallel."""
    with psycopg.connect(url, autocommit=True) as connection:
        statements = {table: _statement(connection, table, shape) for table in TABLES}
        for day in range(-8, 1):
            connection.execute("SET search_path = settler")
            connection.execute(
                "SELECT make_outbox_partition(CAST(now() AT TIME ZONE 'UTC' AS date) + %s)"
                " WHERE to_regclass('outbox_' || to_char(now() AT TIME ZONE 'UTC'"
                " + %s * interval '1 day', 'YYYYMMDD')) IS NULL",
                (day, day),
            )
    began = time.monotonic()

    def fill(table: SampledTable) -> None:
        rows = _fill(url, table, statements[table])
        report(f"{time.monotonic() - began:6.0f} s  {table.name}: {rows:,} rows")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(fill, TABLES))
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in _endings(shape):
            connection.execute(statement)
        report(f"{time.monotonic() - began:6.0f} s  blocks, balances, signers")
        connection.execute("VACUUM (ANALYZE)")
        report(f"{time.monotonic() - began:6.0f} s  vacuumed and analysed")


def _fill(url: str, table: SampledTable, statement: str) -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("SET maintenance_work_mem = '512MB'")
        # Rows are inserted before indexes are created, which takes a third of the time.
        is_partitioned = table.name.endswith("outbox")
        if not is_partitioned:
            connection.execute(
                "UPDATE pg_index SET indisready = false WHERE indrelid = %s::regclass",
                (table.name,),
            )
        rows = connection.execute(statement.encode()).rowcount
        if not is_partitioned:
            connection.execute(sql.SQL("REINDEX TABLE {}").format(sql.SQL(table.name)))
    return rows


def _statement(connection: psycopg.Connection, table: SampledTable, shape: Shape) -> str:
    """Return the statement that inserts a table's copies, oldest first.

    Rows of similar times are then adjacent, as in a table that swaps have filled.
    """
    schema, _, name = table.name.partition(".")
    sampled = f"sample.{schema}_{name}"
    columns: Mapping[str, str] = dict(
        connection.execute(
            "SELECT column_name, udt_name FROM information_schema.columns"
            " WHERE table_schema = %s AND table_name = %s AND column_name <> 'xid'"
            " AND (is_identity = 'NO' OR table_name = 'account') ORDER BY ordinal_position",
            (schema, name),
        ).fetchall()
    )
    accounts = connection.execute("SELECT id FROM sample.settler_account").fetchall()
    own_accounts = ", ".join(str(id) for (id,) in accounts)
    values = [
        _value(table.name, column, kind).replace("{own_accounts}", own_accounts)
        for column, kind in columns.items()
    ]
    young = f" WHERE age < {table.retained}" if table.retained else ""
    return (
        f"INSERT INTO {table.name} ({', '.join(columns)}) OVERRIDING SYSTEM VALUE"
        f" SELECT {', '.join(values)} FROM (SELECT * FROM ({shape.copies()}) AS g{young}) AS g"
        f" JOIN ({BEGINS}) AS begins USING (sample) JOIN {sampled} AS o USING (sample)"
    )


def _value(table: str, column: str, kind: str) -> str:
    chosen = (
        BY_TABLE.get(f"{table}.{column}")
        or BY_NAME.get(column)
        or BY_TYPE.get(kind)
        or "o.{c}"
    )  # fmt: skip
    return chosen.replace("{c}", column)


def _endings(shape: Shape) -> Sequence[str]:
    """Return the statements for rows that belong to no swap: blocks, keys, and totals."""
    last = FIRST_BLOCK + shape.total // BLOCK_SWAPS
    first_day = f"now() - {HISTORY}"
    return (
        "SET session_replication_role = replica",
        f"""
INSERT INTO chain_watcher.chain_block (network, hash, number, parent_hash, time, state, finalized)
SELECT network, sample.hash(network, n), n, sample.hash(network, n - 1),
    {first_day} + {HISTORY} * (n - {FIRST_BLOCK}) / {last - FIRST_BLOCK}, 'canonical', true
FROM chain_watcher.watch_cursor, generate_series({FIRST_BLOCK}, {last}) AS n
""",
        # The Treasury was funded in the first block.
        """
UPDATE settler.deposit SET block_hash = sample.hash(network, block_number) WHERE swap_id IS NULL
""",
        """
UPDATE chain_watcher.movement SET block_hash = deposit.block_hash
FROM settler.deposit WHERE deposit.id = movement.id AND deposit.swap_id IS NULL
""",
        f"""
UPDATE chain_watcher.watch_cursor SET number = {last}, finalized_number = {last},
    hash = sample.hash(network, {last}), parent_hash = sample.hash(network, {last - 1})
""",
        """
INSERT INTO api.idempotency (app_id, key, body_hash, claim, claimed_until, created_at, swap_id)
SELECT app_id, 'key of ' || id, sha256(id::text::bytea), id, created_at, created_at, id
FROM api.swap WHERE created_at > now() - interval '1 day'
""",
        """
UPDATE settler.account SET balance = posted.total
FROM (SELECT account_id, sum(base_units) AS total FROM settler.posting
    WHERE account_id IN (SELECT id FROM settler.account WHERE swap_id IS NULL) GROUP BY 1) AS posted
WHERE posted.account_id = account.id
""",
        """
UPDATE settler.inventory SET held_base_units = held, owed_base_units = owed FROM (
    SELECT network, token,
        coalesce(sum(balance) FILTER (WHERE kind = 'custody' AND holder = 'treasury'), 0) AS held,
        -coalesce(sum(balance) FILTER (WHERE kind IN ('swap_liability', 'in_flight', 'suspense',
            'refuel_liability', 'refuel_in_flight', 'claimable', 'partner_fee')), 0) AS owed
    FROM settler.account GROUP BY 1, 2) AS booked
WHERE (booked.network, booked.token) = (inventory.network, inventory.token)
""",
        """
INSERT INTO settler.signer (network, address, next_nonce)
SELECT network, signer, max(nonce) + 1 FROM settler.nonce_slot GROUP BY 1, 2
ON CONFLICT (network, address) DO UPDATE SET next_nonce = excluded.next_nonce
""",
        "SELECT setval(pg_get_serial_sequence('settler.account', 'id'),"
        " (SELECT max(id) FROM settler.account))",
        "SET session_replication_role = origin",
    )
