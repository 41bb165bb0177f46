"""How far a consumer has taken everything of a source's outbox."""

from __future__ import annotations

from typing import Final

from swap_runtime.postgres.sql import sql
from swap_runtime.telemetry.metrics import counter

# Redeliveries are normal after a rebalance. Many more than that are replayed, or forged.
SKIPPED: Final = counter(
    "messages_skipped",
    "Messages from Kafka at or below the watermark, skipped unchecked",
    ["topic"],
)
FIND_WATERMARK: Final = sql("""
SELECT CAST(CAST(xid AS text) AS bigint) AS xid, id FROM watermark
WHERE consumer = :consumer AND source = :source AND topic = :topic
""")
