"""The swaps with a due requote, on Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from swap_runtime.postgres.database import Engine, read_alone
from swap_runtime.postgres.sql import sql
from swap_settler.model.store.holds import held_swap
from swap_settler.model.store.swap_statements import IS_PARKED
from swap_settler.settling.ports import DueRequote

# Not locked: what it is about is decided under the lock of its swap. While a message about the swap
# is parked, it may be a deposit that came on time and locks the quote.
REQUOTES_DUE: Final = sql(f"""
SELECT swap_id, now() - since AS waited FROM requote_due JOIN swap ON swap.id = swap_id
WHERE due_at <= now() AND NOT {IS_PARKED} AND NOT {held_swap("requote_due.swap_id")}
ORDER BY due_at, swap_id LIMIT :limit
""")


class PostgresDueRequotes:
    def __init__(self, engine: Engine, *, consumer: str) -> None:
        self._engine = engine
        self._consumer = consumer

    async def due(self, *, limit: int) -> Sequence[DueRequote]:
        values = {"consumer": self._consumer, "limit": limit}
        rows = await read_alone(self._engine, REQUOTES_DUE, values)
        return [DueRequote(row.swap_id, row.waited) for row in rows]
