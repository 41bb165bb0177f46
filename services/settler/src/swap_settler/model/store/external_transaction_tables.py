"""The table of what used our nonces without us, as the migrations make it."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from swap_settler.model.store.tables import Table, _at, _bigint, _text, _units


class ExternalTransactionRow(Table, table=True):
    __tablename__ = "foreign_transaction"

    network: str = _text(key=True)
    signer: str = _text(key=True)
    nonce: int = _bigint(key=True)
    transaction_hash: str = _text()
    lost_base_units: Decimal = _units()
    named_by: str = _text()
    named_because: str = _text()
    at: datetime = _at()
