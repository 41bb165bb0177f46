"""Sweeps of unsolicited tokens that an operator ordered, on Postgres."""

from __future__ import annotations

from typing import Final

from swap_runtime.postgres.database import Engine
from swap_runtime.postgres.sql import sql
from swap_settler.model.store.order_changes import change_by_order

ORDER: Final = sql("""
INSERT INTO sweep_due (network, address, token, is_ordered)
SELECT here.network, here.address, :token, true FROM deposit_address AS here
WHERE (here.network, here.address) = (:network, :address) AND EXISTS (SELECT FROM account
    WHERE kind = 'custody' AND (account.network, account.token, account.address)
            = (here.network, CAST(:token AS text), here.address)
        AND account.swap_id IS NULL AND account.deposit_id IS NULL AND account.balance > 0)
ON CONFLICT (network, address, token) DO UPDATE SET due_at = now(), is_ordered = true
""")


class PostgresSweepOrders:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def order(self, network: str, address: str, token: str) -> bool:
        """Have what stands at a deposit address swept. False if nothing of it does."""
        values = {"network": network, "address": address, "token": token}
        return await change_by_order(self._engine, ORDER, values)
