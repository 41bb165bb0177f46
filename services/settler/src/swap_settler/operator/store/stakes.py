"""What orders put at stake, as the ledger has it, on Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final
from uuid import UUID

from swap_runtime.postgres.database import Engine, read_alone
from swap_runtime.postgres.sql import Statement, sql
from swap_settler.operator.decide.stakes import Amount, CapLimit, CapName
from swap_settler.operator.store.claims import CLAIMABLE
from swap_settler.operator.store.partner_fees import FIND_FEE
from swap_settler.records import to_dataclass

PAYMENT: Final = sql("SELECT network, token, base_units FROM intent WHERE id = :id")
INVENTORY: Final = sql("SELECT network, token, held_base_units AS base_units FROM inventory")
CAP: Final = sql("""
SELECT units, span FROM outflow_cap
WHERE network = :network AND token IS NOT DISTINCT FROM CAST(:token AS text)
    AND app_id IS NOT DISTINCT FROM CAST(:app_id AS uuid) AND units IS NOT NULL
""")


class PostgresStakes:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def claimable(self, id: int) -> Amount | None:
        """Return a balance that waits for its owner."""
        return await self._amount(CLAIMABLE, id)

    async def partner_fee(self, id: int) -> Amount | None:
        """Return what is owed to an app, whatever part of it is paid."""
        return await self._amount(FIND_FEE, id)

    async def payment(self, id: UUID) -> Amount | None:
        return await self._amount(PAYMENT, id)

    async def inventory(self) -> Sequence[Amount]:
        """Return what the Treasuries hold by the ledger, of all networks."""
        return [to_dataclass(Amount, row) for row in await read_alone(self._engine, INVENTORY)]

    async def cap(self, name: CapName) -> CapLimit | None:
        """Return a cap; None when nothing is capped there."""
        row = (await read_alone(self._engine, CAP, asdict(name))).one_or_none()
        return None if row is None else to_dataclass(CapLimit, row)

    async def _amount(self, statement: Statement, id: int | UUID) -> Amount | None:
        row = (await read_alone(self._engine, statement, {"id": id})).one_or_none()
        return None if row is None else to_dataclass(Amount, row)
