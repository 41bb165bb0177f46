"""The refunds that wait to be worked out, on Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from swap_runtime.postgres.database import Engine, read_alone
from swap_runtime.postgres.sql import sql
from swap_settler.model.store.clocks import stopped_time
from swap_settler.model.store.holds import held_swap
from swap_settler.settling.ports import DueRefund

# Not locked: what it is about is decided under the lock of its swap.
_STOPPED_TIME: Final = stopped_time(since="refund_due.since", networks=":network", halts=":network")
REFUNDS_DUE: Final = sql(f"""
SELECT id, swap_id, deposit_id, now() - since - {_STOPPED_TIME} AS waited FROM refund_due
WHERE network = :network AND due_at <= now() AND NOT {held_swap("refund_due.swap_id")}
ORDER BY due_at, id LIMIT :limit
""")


class PostgresDueRefunds:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def due(self, network: str, *, limit: int) -> Sequence[DueRefund]:
        values = {"network": network, "limit": limit}
        rows = await read_alone(self._engine, REFUNDS_DUE, values)
        return [DueRefund(row.id, row.swap_id, row.deposit_id, row.waited) for row in rows]
