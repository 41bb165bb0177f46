"""What a settler's transaction does about deposit addresses and their sweeps, on Postgres."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.database import Transaction
from swap_runtime.postgres.sql import Row, sql
from swap_settler.model.chain_facts import SweptFact
from swap_settler.model.changes import Changes
from swap_settler.model.ledger.accounts import Holder, LedgerTransaction
from swap_settler.model.ports import Place
from swap_settler.model.store.rows import fields_of
from swap_settler.model.store.table_columns import Columns, new_values
from swap_settler.model.treasury import DueSweep, UnbookedSweep

DEPOSIT_ADDRESS_COLUMNS: Final = Columns(
    "network text, address text, sequence_number bigint, swap_id uuid"
)
ADD_DEPOSIT_ADDRESSES: Final = sql(DEPOSIT_ADDRESS_COLUMNS.insert_into("deposit_address"))
NUMBERS_AT: Final = sql("""
SELECT network, address, sequence_number FROM deposit_address
JOIN unnest(CAST(:networks AS text[]), CAST(:addresses AS text[])) AS asked(network, address)
    USING (network, address)
""")
SWEPT_COLUMNS: Final = Columns("""
    id uuid, version int, state text, network text, token text, from_address text,
    base_units numeric, transaction_hash text, block_number bigint, block_hash text,
    block_time timestamptz, is_quarantined boolean""")
SAVE_SWEPT: Final = sql(f"""
{SWEPT_COLUMNS.insert_into("swept AS known")}
ON CONFLICT (id) DO UPDATE SET {new_values("version, state, block_number, block_hash, block_time")}
WHERE known.version < excluded.version
RETURNING id
""")
REPORTED_COLUMNS: Final = Columns("""
    transaction_hash text, is_mined boolean, block_number bigint, block_hash text,
    block_time timestamptz""")
# A transaction of the service is in a block, and swept everything that it was to sweep.
SWEEPS_MINED: Final = sql(f"""
UPDATE intent SET state = CASE WHEN reported.is_mined THEN 'mined' ELSE 'broadcast' END,
    transaction_hash = CASE WHEN reported.is_mined THEN reported.transaction_hash END,
    block_number = CASE WHEN reported.is_mined THEN reported.block_number END,
    block_hash = CASE WHEN reported.is_mined THEN reported.block_hash END,
    block_time = CASE WHEN reported.is_mined THEN reported.block_time END
FROM {REPORTED_COLUMNS.arrays_as("reported")}
CROSS JOIN LATERAL (
    SELECT slot_intent.intent_id FROM attempt JOIN slot_intent USING (network, signer, nonce)
    WHERE attempt.transaction_hash = reported.transaction_hash) AS carried
WHERE intent.id = carried.intent_id AND intent.kind = 'sweep'
    AND intent.state IN ('assigned', 'broadcast', 'mined')
""")
PLACE_COLUMNS: Final = Columns("network text, address text, token text")
# A sweep that a reorg took leaves what it moved at its address.
ADD_SWEEPS_DUE: Final = sql(f"""
INSERT INTO sweep_due ({PLACE_COLUMNS.names}) SELECT DISTINCT * FROM {PLACE_COLUMNS.arrays}
ON CONFLICT ({PLACE_COLUMNS.names}) DO UPDATE SET due_at = least(sweep_due.due_at, now())
""")
# Only what can be booked now: what waits for its credit holds up nothing behind it.
UNBOOKED: Final = sql("""
SELECT swept.id, swept.network, swept.token, from_address, base_units, block_number,
    transaction_hash, block_hash, block_time, there.booked AS booked_base_units, there.is_assigned
FROM swept CROSS JOIN LATERAL (SELECT
    coalesce((SELECT balance FROM account WHERE kind = 'custody'
        AND (account.network, account.token, account.address)
            = (swept.network, swept.token, swept.from_address)
        AND swap_id IS NULL AND deposit_id IS NULL), 0) AS booked,
    EXISTS (SELECT FROM deposit_address AS here
        WHERE (here.network, here.address) = (swept.network, swept.from_address)) AS is_assigned
) AS there
WHERE swept.network = :network AND state = 'confirmed' AND NOT is_booked AND NOT is_quarantined
    AND (NOT there.is_assigned OR base_units <= there.booked)
ORDER BY block_number, swept.id LIMIT :limit FOR UPDATE OF swept SKIP LOCKED
""")
# The same order as above: the first of those are among these.
ADDRESSES_WITHOUT_SWAP: Final = sql("""
SELECT network, from_address FROM swept
WHERE network = :network AND state = 'confirmed' AND NOT is_booked AND NOT is_quarantined
    AND NOT EXISTS (SELECT FROM deposit_address AS here
        WHERE (here.network, here.address) = (swept.network, swept.from_address))
ORDER BY block_number, id LIMIT :limit
""")
MARK_BOOKED: Final = sql("""
UPDATE swept SET is_booked = true, is_nobodys = new.is_nobodys
FROM unnest(CAST(:id AS uuid[]), CAST(:is_nobodys AS boolean[])) AS new(id, is_nobodys)
WHERE swept.id = new.id
""")
# A swap has the address now: a sweep that was booked without a swap counts as its own once it is
# credited.
TAKE_OVER: Final = sql("""
UPDATE swept SET is_booked = false, is_nobodys = false
FROM unnest(CAST(:networks AS text[]), CAST(:addresses AS text[])) AS now(network, address)
WHERE swept.is_nobodys AND (swept.network, swept.from_address) = (now.network, now.address)
RETURNING id, swept.network, token, from_address, base_units, block_number, transaction_hash,
    block_hash, block_time, 0 AS booked_base_units, true AS is_assigned
""")
# Confirmed once the ledger has everything up to its block: what it swept is booked.
CONFIRM_SWEEPS: Final = sql("""
UPDATE intent SET state = 'confirmed', confirmed_at = now()
FROM ledger_cursor AS passed, receipt
WHERE intent.kind = 'sweep' AND intent.state = 'mined' AND intent.network = :network
    AND passed.network = intent.network AND intent.block_number <= passed.number
    AND (receipt.network, receipt.transaction_hash)
        = (intent.network, intent.transaction_hash) AND receipt.status = 1
""")
HAS_UNBOOKED: Final = sql("""
SELECT EXISTS (SELECT FROM swept WHERE network = :network AND state = 'confirmed'
        AND NOT is_booked AND NOT is_quarantined)
    OR EXISTS (SELECT FROM intent WHERE network = :network AND kind = 'sweep' AND state = 'mined')
""")
HAS_DUE: Final = sql("""
SELECT EXISTS (SELECT FROM sweep_due WHERE network = :network AND due_at <= now())
""")
LOCK_DUE: Final = sql("""
SELECT due.network, due.address, due.token, here.sequence_number, due.is_ordered,
    coalesce((SELECT balance FROM account WHERE kind = 'custody'
        AND (account.network, account.token, account.address)
            = (due.network, due.token, due.address)
        AND account.swap_id IS NULL AND account.deposit_id IS NULL), 0)
    - coalesce((SELECT sum(base_units) FROM swept WHERE state <> 'reverted' AND NOT is_booked
        AND NOT is_quarantined AND (swept.network, swept.from_address, swept.token)
            = (due.network, due.address, due.token)), 0) AS base_units,
    EXISTS (SELECT FROM sweep JOIN intent ON intent.id = sweep.intent_id
        WHERE (sweep.network, sweep.address, sweep.token) = (due.network, due.address, due.token)
            AND intent.state NOT IN ('dead', 'confirmed')) AS is_out,
    CASE WHEN swap.source_token = due.token THEN swap.source_decimals END AS decimals,
    swap.quote ->> 'source_usd_e18' AS token_usd_e18,
    swap.quote ->> 'source_native_usd_e18' AS native_usd_e18
FROM sweep_due AS due
JOIN deposit_address AS here USING (network, address)
JOIN swap ON swap.id = here.swap_id
WHERE due.network = :network AND due.due_at <= now()
ORDER BY due.due_at LIMIT :limit FOR UPDATE OF due SKIP LOCKED
""")
SWEEP_COLUMNS: Final = Columns("""
    intent_id uuid, network text, address text, token text, sequence_number bigint""")
ADD_SWEEPS: Final = sql(SWEEP_COLUMNS.insert_into("sweep"))
DROP_DUE: Final = sql(f"""
DELETE FROM sweep_due USING {PLACE_COLUMNS.arrays_as("gone")}
WHERE (sweep_due.network, sweep_due.address, sweep_due.token)
    = (gone.network, gone.address, gone.token)
""")
POSTPONE_DUE: Final = sql(f"""
UPDATE sweep_due SET due_at = now() + :pause FROM {PLACE_COLUMNS.arrays_as("later")}
WHERE (sweep_due.network, sweep_due.address, sweep_due.token)
    = (later.network, later.address, later.token)
""")
POSTPONE_REFUNDS: Final = sql("""
UPDATE refund_due SET due_at = now() + :pause WHERE id = ANY(CAST(:ids AS bigint[]))
""")


MINED = ("seen", "confirmed")


class PostgresSweepWork:
    """Mixin of PostgresWork: statements about deposit addresses and their sweeps."""

    _connection: Transaction

    async def numbers_at(self, places: Collection[Place]) -> Mapping[Place, int]:
        if not places:
            return {}
        ordered_places = sorted(places)
        values = {
            "networks": [n for n, _ in ordered_places],
            "addresses": [a for _, a in ordered_places],
        }
        rows = await self._connection.execute(NUMBERS_AT, values)
        return {(row.network, row.address): row.sequence_number for row in rows}

    async def save_swept(self, swept: Sequence[SweptFact]) -> None:
        newest = {one.id: one for one in sorted(swept, key=lambda one: one.version)}
        rows = [SWEPT_COLUMNS.row(one) for one in newest.values()]
        saved = set(await self._connection.scalars(SAVE_SWEPT, columns(rows)))
        newest_saved = {one.transaction_hash: one for one in newest.values() if one.id in saved}
        if not newest_saved:
            return
        mined = [
            REPORTED_COLUMNS.row(one, is_mined=one.state in MINED) for one in newest_saved.values()
        ]
        self._connection.post(SWEEPS_MINED, columns(mined))
        gone = [
            (one.network, one.from_address, one.token)
            for one in newest.values()
            if one.id in saved and one.state not in MINED
        ]
        self._add_due(gone)

    async def lock_unbooked_sweeps(self, network: str, *, limit: int) -> Sequence[UnbookedSweep]:
        """Load the complete final sweeps that are not booked; locked ones are skipped."""
        values = {"network": network, "limit": limit}
        rows = await self._connection.execute(UNBOOKED, values)
        return [_to_unbooked(row) for row in rows]

    async def addresses_without_swap(self, network: str, *, limit: int) -> frozenset[Place]:
        """Return from where the first final sweeps came that are not booked, and no swap has."""
        values = {"network": network, "limit": limit}
        rows = await self._connection.execute(ADDRESSES_WITHOUT_SWAP, values)
        return frozenset((row.network, row.from_address) for row in rows)

    async def take_over_swept(self, places: Collection[Place]) -> Sequence[UnbookedSweep]:
        if not places:
            return ()
        ordered_places = sorted(places)
        values = {
            "networks": [n for n, _ in ordered_places],
            "addresses": [a for _, a in ordered_places],
        }
        rows = await self._connection.execute(TAKE_OVER, values)
        return [_to_unbooked(row) for row in rows]

    async def mark_swept_booked(self, booked: Mapping[UUID, bool]) -> None:
        """Store that sweeps are booked, and whether without a swap."""
        rows = [{"id": id, "is_nobodys": has_no_swap} for id, has_no_swap in booked.items()]
        self._connection.post(MARK_BOOKED, columns(rows))

    async def confirm_sweeps(self, network: str) -> None:
        """Mark the service's sweeps as confirmed when they are final and booked."""
        self._connection.post(CONFIRM_SWEEPS, {"network": network})

    async def lock_due_sweeps(self, network: str, *, limit: int) -> Sequence[DueSweep]:
        """Load what is due at deposit addresses; locked rows are skipped."""
        values = {"network": network, "limit": limit}
        rows = await self._connection.execute(LOCK_DUE, values)
        return [_to_due(row) for row in rows]

    async def order_sweeps(self, ordered: Mapping[UUID, DueSweep]) -> None:
        """Store which address each intent empties. Call after `flush` of the intents."""
        if not ordered:
            return
        rows = [SWEEP_COLUMNS.row(due, intent_id=intent_id) for intent_id, due in ordered.items()]
        self._connection.post(ADD_SWEEPS, columns(rows))

    async def drop_or_postpone_due(
        self, done: Sequence[DueSweep], again: Sequence[DueSweep], *, pause: timedelta
    ) -> None:
        """Delete what is no longer due, and postpone the rest: in flight, or not worth its gas."""
        if done:
            self._connection.post(DROP_DUE, columns([PLACE_COLUMNS.row(one) for one in done]))
        if again:
            places = columns([PLACE_COLUMNS.row(one) for one in again])
            self._connection.post(POSTPONE_DUE, {**places, "pause": pause})

    async def postpone_refunds(self, ids: Sequence[int], *, pause: timedelta) -> None:
        if ids:
            values = {"ids": list(ids), "pause": pause}
            self._connection.post(POSTPONE_REFUNDS, values)

    def add_targets(self, changes: Iterable[Changes]) -> None:
        """Save the deposit addresses of swaps that begin."""
        rows = [
            DEPOSIT_ADDRESS_COLUMNS.row(c.target, swap_id=c.swap.id)
            for c in changes
            if c.target is not None and c.swap is not None
        ]
        if rows:
            self._connection.post(ADD_DEPOSIT_ADDRESSES, columns(rows))

    def add_sweeps_due(self, entries: Iterable[LedgerTransaction]) -> None:
        """What has come to a deposit address is to be swept: it follows from the booking."""
        risen = {
            (posting.account.network, posting.account.address or "", posting.account.token)
            for entry in entries
            for posting in entry.postings
            if posting.account.holder is Holder.DEPOSIT_ADDRESS and posting.base_units > 0
        }
        self._add_due(sorted(risen))

    def _add_due(self, places: Sequence[tuple[str, str, str]]) -> None:
        if places:
            rows = [{"network": n, "address": a, "token": t} for n, a, t in places]
            self._connection.post(ADD_SWEEPS_DUE, columns(rows))


def _to_unbooked(row: Row) -> UnbookedSweep:
    return UnbookedSweep(**fields_of(row, "base_units", "booked_base_units"))


def _to_due(row: Row) -> DueSweep:
    return DueSweep(**fields_of(row, "base_units", "token_usd_e18", "native_usd_e18"))
