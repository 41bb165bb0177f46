"""Fees of an app and their payouts, as the settler books them in its tables."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID, uuid4

import psycopg

ACCOUNTS: Final = """
INSERT INTO settler.account (kind, network, token, app_id)
SELECT kind, %(network)s, %(token)s, CASE kind WHEN 'partner_fee' THEN %(app_id)s::uuid END
FROM unnest(ARRAY['equity', 'partner_fee']) AS kind ON CONFLICT DO NOTHING
"""
EARNED: Final = """
WITH entry AS (
  INSERT INTO settler.ledger_transaction (id, kind, dedupe_key, swap_id, at)
  VALUES (%(id)s, 'partner_fee_earned', %(id)s::text, %(swap_id)s, %(at)s) RETURNING id
), moved AS (
  UPDATE settler.account SET balance = balance - %(base_units)s
  WHERE kind = 'partner_fee' AND (network, token) = (%(network)s, %(token)s)
    AND app_id = %(app_id)s
)
INSERT INTO settler.posting (transaction_id, n, account_id, base_units)
SELECT entry.id, line.n, account.id, line.sign * %(base_units)s
FROM entry, (VALUES ('equity', 1, 1), ('partner_fee', 2, -1)) AS line(kind, n, sign)
JOIN settler.account USING (kind)
WHERE (account.network, account.token) = (%(network)s, %(token)s)
  AND account.app_id IS NOT DISTINCT FROM
    CASE account.kind WHEN 'partner_fee' THEN %(app_id)s::uuid END
"""
ORDERED: Final = """
WITH moved AS (
  UPDATE settler.account SET balance = balance + %(base_units)s
  WHERE kind = 'partner_fee' AND (network, token) = (%(network)s, %(token)s)
    AND app_id = %(app_id)s AND %(state)s <> 'dead'
)
INSERT INTO settler.intent (id, paid_id, kind, network, token, to_address, base_units, state,
                            due_at, created_at, slot_at, transaction_hash, app_id)
VALUES (%(id)s, %(paid_id)s, 'partner_fee', %(network)s, %(token)s, %(to_address)s, %(base_units)s,
        %(state)s, %(at)s, %(at)s, %(at)s, %(transaction_hash)s, %(app_id)s)
"""


class Fees:
    """The fees of one app in one asset."""

    def __init__(self, url: str, app_id: str, *, network: str, token: str) -> None:
        """
        :param url: of the database, as its superuser.
        """
        self._url = url
        self._asset = {"app_id": UUID(app_id), "network": network, "token": token}

    def earn(self, base_units: int, *, at: datetime, swap_id: UUID | None = None) -> UUID:
        """Return the ledger transaction's id."""
        values = {"swap_id": swap_id or uuid4(), "base_units": base_units, "at": at}
        return self._write(values, ACCOUNTS, EARNED)

    def pay(
        self,
        base_units: int,
        *,
        at: datetime,
        to_address: str,
        state: str = "confirmed",
        transaction_hash: str | None = None,
    ) -> UUID:
        """Return the payout's id."""
        values = {
            "base_units": base_units,
            "at": at,
            "to_address": to_address,
            "state": state,
            "transaction_hash": transaction_hash,
            "paid_id": uuid4().int % 10**30,
        }
        return self._write(values, ORDERED)

    def _write(self, values: Mapping[str, Any], *statements: str) -> UUID:
        id = uuid4()
        with psycopg.connect(self._url) as connection:
            connection.execute("SET search_path = settler")
            for statement in statements:
                connection.execute(statement.encode(), {**self._asset, **values, "id": id})
        return id
