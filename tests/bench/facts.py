"""Facts of the databases and the chains after the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, LiteralString

import psycopg

from swap_chains.evm.codec import PAID, topic_uint
from tests.bench.load import STATUSES, Chain
from tests.bench.receiver import ReceivedWebhooks
from tests.plugins.invariants import make_views, violations

# Each step ends with a commit, at the time in PostgreSQL, or with the time that the lane stored
# when the node had answered.
STEP_TIMES: LiteralString = """
WITH confirmed AS (
  SELECT convert_from(key, 'UTF8')::uuid AS deposit_id, published_at,
         pg_xact_commit_timestamp(xid::xid) AS confirmed_at
  FROM chain_watcher.outbox
  WHERE topic = 'deposit.changed.v1'
    AND convert_from(payload, 'UTF8')::json #>> '{body,state}' = 'confirmed'
), settled AS (
  SELECT swap_id, min(pg_xact_commit_timestamp(xmin)) AS settled_at
  FROM settler.swap_transition WHERE to_status = 'ls_transfer_pending' GROUP BY swap_id
)
SELECT deposit.swap_id::text AS swap_id,
       extract(epoch FROM confirmed.confirmed_at)::float8,
       extract(epoch FROM confirmed.published_at)::float8,
       extract(epoch FROM settled.settled_at)::float8,
       extract(epoch FROM intent.slot_at)::float8,
       extract(epoch FROM attempt.first_sent_at)::float8
FROM confirmed JOIN settler.deposit ON deposit.id = confirmed.deposit_id
JOIN settled USING (swap_id)
JOIN settler.intent ON intent.swap_id = deposit.swap_id AND intent.kind = 'output'
JOIN settler.slot_intent AS slot ON slot.intent_id = intent.id
JOIN settler.attempt ON (attempt.network, attempt.signer, attempt.nonce)
  = (slot.network, slot.signer, slot.nonce)
WHERE NOT attempt.is_cancel AND deposit.swap_id = ANY(%(ids)s::uuid[])
"""
STEP_NAMES = ("published", "settled", "signed", "accepted by a node")
MOVES: LiteralString = """
SELECT swap_id::text, to_status, extract(epoch FROM pg_xact_commit_timestamp(xmin))::float8
FROM settler.swap_transition
WHERE from_status IS DISTINCT FROM to_status AND swap_id = ANY(%(ids)s::uuid[])
"""
STATUS_COUNTS: LiteralString = """
SELECT status, count(*) FROM settler.swap WHERE id = ANY(%(ids)s::uuid[]) GROUP BY status
"""
SHOWN_COUNTS: LiteralString = """
SELECT status, count(*) FROM api.swap WHERE id = ANY(%(ids)s::uuid[]) GROUP BY status
"""
INTENTS: LiteralString = """
SELECT network, paid_id FROM settler.intent
WHERE kind = 'output' AND swap_id = ANY(%(ids)s::uuid[])
"""


@dataclass(frozen=True, slots=True)
class Steps:
    """Seconds from a final deposit in the watcher's outbox to a payout that a node has accepted."""

    whole: Sequence[float]
    each: Mapping[str, Sequence[float]]


class Facts:
    """Reads what happened to swaps, with the auditor's role."""

    def __init__(self, url: str) -> None:
        self._url = url

    def steps(self, ids: Collection[str]) -> Steps:
        # Work that a restart or the sweep finished has no recorded times. It is omitted, and the
        # number of samples shows that.
        rows = [row[1:] for row in self._rows(STEP_TIMES, ids) if None not in row]
        parts = [[later - earlier for earlier, later in pairwise(row)] for row in rows]
        return Steps(
            [row[-1] - row[0] for row in rows],
            {name: [part[n] for part in parts] for n, name in enumerate(STEP_NAMES)},
        )

    def webhook_seconds(self, ids: Collection[str], received: ReceivedWebhooks) -> Sequence[float]:
        """Return the seconds from the commit of each change to the receipt of its webhook."""
        return [
            received.first_at[swap_id][status] - at
            for swap_id, status, at in self._rows(MOVES, ids)
            if status in received.first_at[swap_id]
        ]

    def faults(self, ids: Collection[str], received: ReceivedWebhooks) -> list[str]:
        """Return what was lost or reported wrongly; empty if everything is correct."""
        wanted = Counter({"completed": len(ids)})
        found = []
        for name, statement in (("settler", STATUS_COUNTS), ("api", SHOWN_COUNTS)):
            there = Counter(dict(self._rows(statement, ids)))
            if there != wanted:
                found.append(f"{name} has {dict(there)} of {len(ids)} swaps")
        short = sum(received.first_at[swap_id].keys() != STATUSES for swap_id in ids)
        if short:
            found.append(f"{short} swaps have not exactly three webhooks")
        if received.forged:
            found.append(f"{received.forged} webhooks had a wrong signature")
        return found

    async def payment_faults(
        self, ids: Collection[str], chains: Mapping[str, Chain], networks: Sequence[Any]
    ) -> list[str]:
        """Return errors in the Treasuries' logs: each intent must have exactly one payment."""
        intents = {(network, int(paid_id)) for network, paid_id in self._rows(INTENTS, ids)}
        paid: Counter[tuple[str, int]] = Counter()
        for network in networks:
            treasury = network["contracts"]["treasury"]
            log_filter = {
                "address": treasury,
                "topics": [PAID],
                "fromBlock": "0x0",
                "toBlock": "latest",
            }
            logs: Any = await chains[network["name"]].node.call_one("eth_getLogs", log_filter)
            paid.update((network["name"], topic_uint(log["topics"][1])) for log in logs)
        found = []
        if len(intents) != len(ids):
            found.append(f"{len(intents)} payouts were ordered for {len(ids)} swaps")
        if unpaid := intents - paid.keys():
            found.append(f"{len(unpaid)} payouts have no Paid log")
        if unordered := paid.keys() - intents:
            found.append(f"{len(unordered)} Paid logs belong to nothing")
        if twice := [key for key, times in paid.items() if times > 1]:
            found.append(f"{len(twice)} payouts were paid twice")
        return found

    def broken_invariants(self) -> list[str]:
        with psycopg.connect(self._url) as connection:
            rows = connection.execute("SELECT network FROM chain_watcher.watch_cursor").fetchall()
            connection.execute(
                "ANALYZE"
            )  # the views join all tables, which were written a moment before
        make_views(self._url, {row[0]: 1 for row in rows})
        return [f"{title}: {rows[:2]}" for title, rows in violations(self._url).items()]

    def _rows(self, statement: LiteralString, ids: Collection[str]) -> list[tuple[Any, ...]]:
        with psycopg.connect(self._url) as connection:
            return connection.execute(statement, {"ids": list(ids)}).fetchall()
