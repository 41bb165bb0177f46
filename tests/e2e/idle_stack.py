"""Waits until a stack is idle, according to the database and the chains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, LiteralString

import psycopg

from tests.e2e.chains import Chain
from tests.support.waiting import until

SOURCES: tuple[LiteralString, ...] = ("api", "chain_watcher", "settler")
CONSUMERS: tuple[LiteralString, ...] = ("api", "quoter", "chain_watcher", "settler", "notifier")
WITHIN_SECONDS = 90.0

UNDER_WAY: Mapping[LiteralString, LiteralString] = {
    "payments": "SELECT count(*) FROM settler.intent WHERE state NOT IN ('confirmed', 'dead')",
    "refunds": "SELECT count(*) FROM settler.refund_due",
    "requotes": "SELECT count(*) FROM settler.requote_due",
    # A sweep that is not worth its gas is due much later.
    "sweeps": "SELECT count(*) FROM settler.sweep_due WHERE due_at < now() + interval '1 minute'",
    "bookings": "SELECT count(*) FROM settler.swept WHERE state <> 'reverted' AND NOT is_booked",
    "addresses": "SELECT count(*) FROM chain_watcher.deposit_target WHERE position IS NULL",
    "nonces": "SELECT count(*) FROM settler.nonce_slot WHERE closed_at IS NULL",
    "deposits": "SELECT count(*) FROM settler.deposit WHERE state = 'seen'",
    "swaps": """
SELECT count(*) FROM settler.swap WHERE status IN ('ls_transfer_pending', 'pending_refund')""",
    "webhooks": "SELECT count(*) FROM notifier.webhook_message WHERE state = 'waiting'",
    # The Treasury's balances were compared after their last change.
    "comparisons": """
SELECT count(*) FROM (
  SELECT movement.network, max(movement.block_number) AS number FROM chain_watcher.movement
  JOIN chain_watcher.chain_block AS block ON (block.network, block.hash, block.state)
    = (movement.network, movement.block_hash, 'canonical')
  GROUP BY 1
) AS moved WHERE NOT EXISTS (
  SELECT FROM settler.balance_snapshot AS compared
  WHERE compared.network = moved.network AND compared.block_number >= moved.number)""",
}
UNPUBLISHED: LiteralString = "SELECT count(*) FROM {source}.outbox WHERE published_at IS NULL"
# Outbox messages that a reader of their topic has not handled. Consumers that only count may pause,
# so
# their recent messages are no due work.
UNREAD: LiteralString = """
SELECT count(*) FROM {consumer}.watermark AS mark
JOIN {source}.outbox AS sent
  ON sent.topic = mark.topic AND (sent.xid, sent.id) > (mark.xid, mark.id)
WHERE mark.source = '{source}' AND NOT EXISTS (
  SELECT FROM {consumer}.inbox AS heard
  WHERE (heard.consumer, heard.message_id) = (mark.consumer, sent.message_id))
AND NOT ('{consumer}' = 'quoter' AND mark.topic = 'swap.changed.v1'
         AND sent.created_at > now() - interval '3 seconds')"""
PARKED: LiteralString = (
    "SELECT '{consumer}', topic, reason FROM {consumer}.parked WHERE state = 'parked'"
)
PROGRESS: LiteralString = "SELECT network, block_number FROM chain_watcher.progress"

DONE: LiteralString = """
SELECT (SELECT max(id) FROM api.outbox), (SELECT max(id) FROM chain_watcher.outbox),
       (SELECT max(id) FROM settler.outbox),
       (SELECT count(*) FROM chain_watcher.movement),
       (SELECT count(*) FROM settler.ledger_transaction),
       (SELECT count(*) FROM notifier.delivery_attempt)"""


def _counts() -> Iterator[tuple[LiteralString, LiteralString]]:
    yield from UNDER_WAY.items()
    for source in SOURCES:
        yield f"unpublished of {source}", UNPUBLISHED.format(source=source)
        for consumer in CONSUMERS:
            unheard = UNREAD.format(source=source, consumer=consumer)
            yield f"{source}, unheard by {consumer}", unheard


ALL_UNDER_WAY: LiteralString = " UNION ALL ".join(
    f"SELECT '{what}', ({count})" for what, count in _counts()
)
ALL_PARKED: LiteralString = " UNION ALL ".join(
    PARKED.format(consumer=consumer) for consumer in CONSUMERS
)


async def what_was_done(stack: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return a value that changes with every decision, message and movement."""
    async with await psycopg.AsyncConnection.connect(
        stack["postgres"]["auditor_url"], autocommit=True
    ) as connection:
        [row] = await _rows(connection, DONE)
        return row


async def wait_until_idle(stack: Mapping[str, Any]) -> None:
    """Return when nothing is due, unpublished, unread or unwatched.

    :raises AssertionError: with the remaining work after a timeout.
    """
    async with await psycopg.AsyncConnection.connect(
        stack["postgres"]["auditor_url"], autocommit=True
    ) as connection:
        heads: dict[str, int] = {}
        left: Mapping[str, object] = {}

        async def is_idle() -> bool:
            nonlocal left
            left = await _remaining_work(connection, heads)
            if left or heads:
                return not left
            # Blocks up to now must be watched too, and cause no more work.
            heads.update(await _heads(stack))
            return False

        try:
            await until(is_idle, what="quiet", within=WITHIN_SECONDS, every=0.1)
        except AssertionError:
            raise AssertionError(f"still under way after {WITHIN_SECONDS:.0f} s: {left}") from None
        parked = await _rows(connection, ALL_PARKED)
        assert not parked, f"parked: {parked}"


async def _remaining_work(
    connection: psycopg.AsyncConnection[Any], heads: Mapping[str, int]
) -> Mapping[str, int]:
    watched = {network: int(number) for network, number in await _rows(connection, PROGRESS)}
    behind = {
        f"blocks of {network}": head - watched.get(network, 0)
        for network, head in heads.items()
        if head > watched.get(network, 0)
    }
    return behind or {what: int(n) for what, n in await _rows(connection, ALL_UNDER_WAY) if n}


async def _heads(stack: Mapping[str, Any]) -> Mapping[str, int]:
    names = [network["name"] for network in stack["networks"]]
    return {name: await Chain.of(stack, name).head() for name in names}


async def _rows(
    connection: psycopg.AsyncConnection[Any], query: LiteralString
) -> list[tuple[Any, ...]]:
    return await (await connection.execute(query)).fetchall()
