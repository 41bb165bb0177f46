"""The cost of the chain-watcher's statements does not grow with the stored chain."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import pytest
from watch_factories import NETWORK
from watch_world import World

from swap_chain_watcher.adapters import evidence_statements, statements
from swap_chain_watcher.adapters.old_blocks import PRUNE_BLOCKS
from tests.plugins.plans import History, Question, Readers

pytestmark = pytest.mark.connected

BLOCKS: Final = 5000
FINAL: Final = BLOCKS - 5
ADDRESS: Final = "0x000000000000000000000000000000000000dEaD"
NOW: Final = datetime(2030, 1, 1, tzinfo=UTC)
LOOKED: Final = datetime(2029, 1, 1, 0, 20, tzinfo=UTC)
TABLES: Final = "movement, chain_block, watch_cursor, past_halt, deposit_target, hint"
# A deposit, a payout and a rise in every block, and one address with few of the rises.
FILL: Final = (
    f"""
INSERT INTO chain_block (network, hash, number, parent_hash, time, state, finalized)
SELECT '{NETWORK}', 'hash' || n, n, 'hash' || n - 1, '2030-01-01Z', 'canonical', n <= {FINAL}
FROM generate_series(1, {BLOCKS}) AS n
""",
    f"""
INSERT INTO movement (network, block_hash, id, block_number, kind, transaction_hash, token,
                      from_address, to_address, base_units, version, state, paid_id,
                      confirmations_required, waits_for_finality, total_before,
                      providers_required, verified_at, trusted_at)
SELECT '{NETWORK}', 'hash' || n, lpad(to_hex(n * 10 + k), 32, '0')::uuid, n, kind, 'tx' || n,
       '{ADDRESS}', '{ADDRESS}',
       CASE n % 1000 WHEN 0 THEN '{ADDRESS}' ELSE 'somebody' || n END, 1, 1, 'confirmed',
       CASE kind WHEN 'paid' THEN n END, 1, false, CASE kind WHEN 'balance_rose' THEN n END,
       CASE WHEN kind <> 'paid' THEN 1 END,
       CASE WHEN n < {BLOCKS} THEN '2030-01-01Z'::timestamptz END,
       '2030-01-01Z'::timestamptz + n * interval '1 minute'
FROM generate_series(1, {BLOCKS}) AS n,
     unnest(ARRAY['deposited', 'paid', 'balance_rose']) WITH ORDINALITY AS kinds(kind, k)
""",
    f"""
INSERT INTO watch_cursor (network, number, hash, parent_hash, time, finalized_number,
                          start_number, checked_number)
VALUES ('{NETWORK}', {BLOCKS}, 'hash', 'parent', '2030-01-01Z', {FINAL}, 1, {FINAL})
""",
    f"""
INSERT INTO past_halt (network, halted_at, resumed_at, reason)
SELECT '{NETWORK}', '2030-01-01Z', '2030-01-01Z', 'reason' FROM generate_series(1, {BLOCKS})
""",
    f"""
INSERT INTO deposit_target (network, address, since, position, looked_at)
SELECT '{NETWORK}', 'Somebody' || n, '2029-01-01Z', CASE WHEN n <= {FINAL} THEN n END,
       '2029-01-01Z'::timestamptz + n * interval '1 minute'
FROM generate_series(1, {BLOCKS}) AS n
""",
    f"SELECT setval('deposit_target_position', {BLOCKS})",
    f"""
INSERT INTO hint (network, transaction_hash, due_at, pause, ends_at)
SELECT '{NETWORK}', 'tx' || n, now() + CASE WHEN n > 5 THEN interval '1 hour' ELSE '-1 s' END,
       '1 second', now() + interval '1 day'
FROM generate_series(1, {BLOCKS}) AS n
""",
)
OF: Final = {"network": NETWORK}
NUMBERS: Final = [2000, 2001, 2500, 3001, 4999]
IDS: Final = [UUID(int=number * 10 + 1) for number in NUMBERS]
NEW_ADDRESSES: Final = [f"Somebody{number}" for number in range(4996, 5001)]
DUE: Final = {"young_since": NOW, "young_max": 9, "old_before": LOOKED, "old_max": 5}
HASHES: Final = [f"hash{number}" for number in NUMBERS]
ADDRESSES: Final = [f"Somebody{number}" for number in NUMBERS]
PLACE: Final = {
    "number": BLOCKS,
    "hash": "hash",
    "parent_hash": "parent",
    "time": NOW,
    "provider": "one.example",
}
MOVED: Final = {
    "block_hash": HASHES,
    "id": IDS,
    "version": [2] * 5,
    "state": ["confirmed"] * 5,
}
SIGHTED: Final = {
    **MOVED,
    "block_number": NUMBERS,
    "kind": ["deposited"] * 5,
    "transaction_hash": ["tx"] * 5,
    "token": [ADDRESS] * 5,
    "from_address": [ADDRESS] * 5,
    "to_address": [ADDRESS] * 5,
    "base_units": ["1"] * 5,
    "claimed_by": [None] * 5,
    "internal": [False] * 5,
    "total_before": [None] * 5,
    "paid_id": [None] * 5,
    "sequence_number": [None] * 5,
    "memo": [None] * 5,
    "quarantine_reason": [None] * 5,
    "confirmations_required": [1] * 5,
    "waits_for_finality": [False] * 5,
    "counted_number": [None] * 5,
    "came_after": [None] * 5,
    "provider": ["one.example"] * 5,
    "providers_required": [1] * 5,
}
MARKED: Final = {"block_hash": HASHES, "id": IDS, "at": NOW}


def query_of(name: str, at_most: int = 80, **values: Any) -> Question:
    """Query a few rows of the network."""
    statement = getattr(statements, name, None) or getattr(evidence_statements, name)
    every = {**OF, **values}
    return Question(statement, {key: every[key] for key in statement.names}, at_most)


FROM_THE_START = {"after_number": -1, "after_hash": "", "after_id": UUID(int=0)}
STATEMENTS: Final = {
    "PUBLISHED_VERSIONS": query_of("PUBLISHED_VERSIONS", ids=IDS, paid_ids=list(map(str, NUMBERS))),
    "TARGETS_AMONG": query_of("TARGETS_AMONG", addresses=[one.lower() for one in ADDRESSES]),
    "BEGIN_BLOCK": query_of("BEGIN_BLOCK", **PLACE),
    "BEGIN_CURSOR": query_of("BEGIN_CURSOR", **PLACE),
    "LOCK_CURSOR": query_of("LOCK_CURSOR"),
    "CURSOR": query_of("CURSOR"),
    "RECENT_BLOCKS": query_of("RECENT_BLOCKS", finalized_number=FINAL),
    "OPEN_MOVEMENTS": query_of("OPEN_MOVEMENTS", finalized_number=FINAL),
    "NEAREST_BLOCK": query_of("NEAREST_BLOCK", number=2500),
    "ORPHAN_BLOCKS": query_of("ORPHAN_BLOCKS", hashes=["hash4999", "hash5000"]),
    "SAVE_BLOCKS": query_of(
        "SAVE_BLOCKS",
        at_most=120,
        finalized_number=FINAL,
        hash=HASHES,
        number=NUMBERS,
        parent_hash=HASHES,
        time=[NOW] * 5,
        provider=["one.example"] * 5,
        state=["canonical"] * 5,
    ),
    "FINALIZE_BLOCKS": query_of("FINALIZE_BLOCKS", at_most=120, finalized_number=BLOCKS),
    "SAVE_MOVEMENTS": query_of("SAVE_MOVEMENTS", at_most=250, **SIGHTED),
    "MOVE_MOVEMENTS": query_of("MOVE_MOVEMENTS", at_most=250, **MOVED),
    "ADVANCE": query_of(
        "ADVANCE", **PLACE, finalized_number=FINAL, start_number=1, has_published=False
    ),
    "PRUNE_BLOCKS": Question(
        PRUNE_BLOCKS, {**OF, "before": NOW + timedelta(days=1), "limit": 5}, at_most=120
    ),
    "UNCHECKED_RANGE": query_of("UNCHECKED_RANGE", is_halted=False),
    "ONE_PROVIDER": query_of("ONE_PROVIDER", after=2000, upto=2005),
    "STORED_MOVEMENTS": query_of("STORED_MOVEMENTS", ids=IDS),
    "PUBLISHED_BETWEEN": query_of("PUBLISHED_BETWEEN", first=2001, last=2005),
    "CANONICAL_HASHES": query_of("CANONICAL_HASHES", numbers=NUMBERS),
    "CHECKED_BLOCK": query_of("CHECKED_BLOCK"),
    "MARK_CHECKED": query_of(
        "MARK_CHECKED", checked_number=FINAL, has_published=False, leaves_open=False
    ),
    "ADD_TARGETS": query_of(
        "ADD_TARGETS", at_most=120, network=[NETWORK] * 5, address=ADDRESSES, since=[NOW] * 5
    ),
    "ADD_HINTS": query_of(
        "ADD_HINTS",
        at_most=120,
        network=[NETWORK] * 5,
        transaction_hash=[f"tx{number}" for number in NUMBERS],
        pause=timedelta(seconds=1),
        ends_after=timedelta(hours=1),
    ),
    "END_HINTS": query_of("END_HINTS"),
    "REPEAT_HINTS": query_of("REPEAT_HINTS", at_most=120, pause_max=timedelta(minutes=1), limit=5),
    "HINTED_TRANSACTIONS": query_of("HINTED_TRANSACTIONS", limit=5),
    "RISES_WITHOUT_TRANSACTION": query_of("RISES_WITHOUT_TRANSACTION", limit=5),
    "SAVE_RISE_TRANSACTIONS": query_of(
        "SAVE_RISE_TRANSACTIONS",
        at_most=250,
        block_hash=HASHES,
        id=IDS,
        version=[2] * 5,
        transaction_hash=["tx"] * 5,
        from_address=[ADDRESS] * 5,
    ),
    "HALT": query_of("HALT", at=NOW, reason="reason"),
    "RESUME": query_of("RESUME"),
    "FIND_HALT": query_of("FIND_HALT"),
    "POSITIONS": query_of("POSITIONS"),
    "NEW_TARGETS": query_of("NEW_TARGETS", limit=5),
    "ACTIVATE_TARGETS": query_of("ACTIVATE_TARGETS", at_most=120, addresses=NEW_ADDRESSES),
    "ACTIVE_TARGETS": query_of("ACTIVE_TARGETS", after=FINAL - 5),
    "DUE_ADDRESSES": query_of("DUE_ADDRESSES", **DUE),
    "MARK_COUNTED": query_of("MARK_COUNTED", number=BLOCKS, time=NOW, young_since=NOW),
    "MARK_COUNTED_FIRST": query_of(
        "MARK_COUNTED_FIRST", at_most=200, addresses=ADDRESSES, number=BLOCKS, time=NOW
    ),
    "MARK_COUNTED_OLD": query_of(
        "MARK_COUNTED_OLD", at_most=200, addresses=ADDRESSES, number=BLOCKS, time=NOW, at=NOW
    ),
    "MARK_INCOMPLETE": query_of("MARK_INCOMPLETE", at_most=200, addresses=ADDRESSES),
    "ADDRESS_TOTALS": query_of(
        "ADDRESS_TOTALS", at_most=100, addresses=[ADDRESS, *ADDRESSES], native=ADDRESS
    ),
    "PUBLISHED_RISES": query_of("PUBLISHED_RISES", addresses=[ADDRESS, *ADDRESSES]),
    "VERIFIED_KEYS": query_of("VERIFIED_KEYS", ids=IDS),
    "UNVERIFIED_SUMS": query_of("UNVERIFIED_SUMS"),
    "SINGLE_PROVIDER_SUMS": query_of(
        "SINGLE_PROVIDER_SUMS", single_provider_since=NOW + timedelta(minutes=BLOCKS - 5)
    ),
    "VERIFY": query_of("VERIFY", at_most=250, **MARKED),
    "WITHHOLD": query_of("WITHHOLD", at_most=250, **MARKED),
    "TRUST": query_of("TRUST", at_most=250, **MARKED),
    "TO_VERIFY": query_of("TO_VERIFY", **FROM_THE_START, limit=5),
    "UNVERIFIED_RISES": query_of(
        "UNVERIFIED_RISES", **FROM_THE_START, upto=FINAL, limit=5
    ),
    "UNVERIFIED_RISES_OF": query_of("UNVERIFIED_RISES_OF", addresses=[ADDRESS, *ADDRESSES]),
    "SWEPT_COINS": query_of("SWEPT_COINS", addresses=[ADDRESS, *ADDRESSES], native=ADDRESS),
    "WITHHELD": query_of("WITHHELD"),
}  # fmt: skip


async def test_every_statement_reads_only_the_rows_of_its_result(
    readers: Readers, world: World
) -> None:
    assert await readers.among(STATEMENTS, History(world.engine, TABLES, FILL)) == {}
