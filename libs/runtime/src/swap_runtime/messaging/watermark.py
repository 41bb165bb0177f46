"""How far a consumer has taken everything of a source's outbox."""

from __future__ import annotations

from typing import Final

from swap_runtime.postgres.sql import sql

FIND_WATERMARK: Final = sql("""
SELECT CAST(CAST(xid AS text) AS bigint) AS xid, id FROM watermark
WHERE consumer = :consumer AND source = :source AND topic = :topic
""")
