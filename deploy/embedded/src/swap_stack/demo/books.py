"""The settler's ledger, read as the auditor: per asset it must sum to zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import LiteralString

import psycopg

SUMS: LiteralString = """
SELECT account.network, account.token, count(*), sum(posting.base_units)
FROM settler.posting JOIN settler.account ON account.id = posting.account_id
GROUP BY account.network, account.token ORDER BY account.network, account.token
"""


@dataclass(frozen=True, slots=True)
class AssetSum:
    network: str
    token: str
    postings: int
    total: int


async def read_sums(auditor_url: str) -> tuple[AssetSum, ...]:
    """Return the sum of all postings, asset by asset."""
    async with await psycopg.AsyncConnection.connect(auditor_url) as connection:
        rows = await (await connection.execute(SUMS)).fetchall()
    return tuple(AssetSum(row[0], row[1], row[2], int(row[3])) for row in rows)
