"""The settler's transaction, with what is owed to apps in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from swap_runtime.messaging.unit_of_work import UnitOfWork
from swap_runtime.postgres.sql import sql
from swap_settler.model.ledger.inventory import AssetKey
from swap_settler.operator.decide.partner_fees import PartnerFee
from swap_settler.operator.store.claims import PostgresClaimWork
from swap_settler.records import to_dataclass

PAYMENTS: Final = ("paid_base_units", "is_on_its_way")  # they are read when one is ordered
FEE: Final = "SELECT id, app_id, network, token, -balance AS base_units FROM account"
FEES: Final = sql(f"""
{FEE} WHERE kind = 'partner_fee' AND balance <> 0
    AND (CAST(:after AS bigint) IS NULL OR (app_id, network, token) > (
        SELECT app_id, network, token FROM account WHERE id = CAST(:after AS bigint)))
ORDER BY app_id, network, token LIMIT :limit
""")
FIND_FEE: Final = sql(f"{FEE} WHERE id = :id AND kind = 'partner_fee' AND balance <> 0")
ASSET: Final = sql("SELECT network, token FROM account WHERE id = :id AND kind = 'partner_fee'")
LOCK_FEE: Final = sql(f"""
{FEE} WHERE id = :id AND kind = 'partner_fee' AND balance <> 0 FOR UPDATE
""")
# A separate statement, after the lock: the locking statement itself would read the state before it.
PAID: Final = sql("""
SELECT coalesce(sum(base_units), 0) AS paid, count(*) FILTER (WHERE state <> 'confirmed') AS unpaid
FROM intent WHERE kind = 'partner_fee' AND state <> 'dead'
    AND app_id = :app_id AND network = :network AND token = :token
""")


class PostgresFeeWork(PostgresClaimWork):
    """A settler's transaction in which an operator orders that a partner's fees are paid."""

    async def fees(self, *, after: int | None, limit: int) -> Sequence[PartnerFee]:
        """
        :param after: only those behind the fee with this id, by app, network and token.
        """
        rows = await self._connection.execute(FEES, {"after": after, "limit": limit})
        return [to_dataclass(PartnerFee, row, without=PAYMENTS) for row in rows]

    async def find_fee(self, id: int) -> PartnerFee | None:
        """Return what is owed; None where nothing is. Locks nothing."""
        row = (await self._connection.execute(FIND_FEE, {"id": id})).one_or_none()
        return None if row is None else to_dataclass(PartnerFee, row, without=PAYMENTS)

    async def asset_of_fee(self, id: int) -> AssetKey | None:
        """Return what a partner's fee is in. Locks nothing."""
        row = (await self._connection.execute(ASSET, {"id": id})).one_or_none()
        return None if row is None else (row.network, row.token)

    async def lock_fee(self, id: int) -> PartnerFee | None:
        row = (await self._connection.execute(LOCK_FEE, {"id": id})).one_or_none()
        if row is None:
            return None
        whose = {"app_id": row.app_id, "network": row.network, "token": row.token}
        paid = (await self._connection.execute(PAID, whose)).one()
        return PartnerFee(
            id=row.id,
            **whose,
            base_units=int(row.base_units),
            paid_base_units=int(paid.paid),
            is_on_its_way=paid.unpaid > 0,
        )


class PostgresFeeUnitOfWork(UnitOfWork[PostgresFeeWork]):
    _opens = PostgresFeeWork
