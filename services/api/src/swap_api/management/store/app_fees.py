"""An app's fees, read from the settler's published views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final
from uuid import UUID

from swap_api.management.decide.app_fees import (
    FeeBalance,
    FeeEntry,
    FeeEntryKind,
    FeeFilter,
    FeePage,
)
from swap_runtime.postgres.database import Engine, read_alone
from swap_runtime.postgres.sql import Statement, sql

BALANCES: Final = sql("""
SELECT network, token, waiting, pending, completed FROM settler.partner_fee_balance
WHERE app_id = :app_id ORDER BY network, token
""")
SOURCES: Final = {
    FeeEntryKind.FEE: """
SELECT 'fee' AS kind, id, at, network, token, base_units, swap_id, CAST(NULL AS text) AS to_address,
       CAST(NULL AS text) AS transaction_hash, CAST(NULL AS text) AS state
FROM settler.partner_fee_earned""",
    FeeEntryKind.PAYOUT: """
SELECT 'payout' AS kind, id, at, network, token, base_units, CAST(NULL AS uuid) AS swap_id,
       to_address, transaction_hash, state
FROM settler.partner_fee_payout""",
}
OF_ASSET: Final = "network = :network AND token = :token"
# An id of another app is none of the list: nothing is behind it.
BEHIND: Final = """(at, id) < (
  SELECT at, id FROM settler.partner_fee_earned WHERE id = :starting_after AND app_id = :app_id
  UNION ALL
  SELECT at, id FROM settler.partner_fee_payout WHERE id = :starting_after AND app_id = :app_id)"""
NEWEST: Final = "ORDER BY at DESC, id DESC LIMIT :limit"


class PostgresAppFees:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def balances(self, app_id: UUID) -> Sequence[FeeBalance]:
        """
        :raises Unavailable: when Postgres is away.
        """
        rows = await read_alone(self._engine, BALANCES, {"app_id": app_id})
        return [
            FeeBalance(
                row.network, row.token, int(row.waiting), int(row.pending), int(row.completed)
            )
            for row in rows
        ]

    async def list(self, wanted: FeeFilter) -> FeePage:
        """
        :raises Unavailable: when Postgres is away.
        """
        rows = await read_alone(self._engine, *page_statement(wanted))
        entries = tuple(_entry(row._asdict()) for row in rows)
        return FeePage(entries[: wanted.page_size], len(entries) > wanted.page_size)


def page_statement(wanted: FeeFilter) -> tuple[Statement, dict[str, Any]]:
    """Return the query of a page with its values: of each kind, as much as the page may need."""
    where = "app_id = :app_id"
    if wanted.asset is not None:
        where += f" AND {OF_ASSET}"
    if wanted.starting_after is not None:
        where += f" AND {BEHIND}"
    kinds = [wanted.kind] if wanted.kind is not None else list(FeeEntryKind)
    parts = (f"({SOURCES[kind]} WHERE {where} {NEWEST})" for kind in kinds)
    page = f"SELECT * FROM ({' UNION ALL '.join(parts)}) AS entry {NEWEST}"
    network, token = wanted.asset or (None, None)
    values = {**asdict(wanted), "network": network, "token": token, "limit": wanted.page_size + 1}
    return sql(page), values


def _entry(row: dict[str, Any]) -> FeeEntry:
    units, kind = int(row.pop("base_units")), FeeEntryKind(row.pop("kind"))
    return FeeEntry(kind=kind, base_units=units, **row)
