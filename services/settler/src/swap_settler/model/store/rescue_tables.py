"""The table of tokens that no catalogue knows, as the migrations make it."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from swap_settler.model.store.tables import Table, _at, _bigint, _text, _units


class RescuedTokenRow(Table, table=True):
    __tablename__ = "rescued_token"

    id: int = _bigint(key=True)
    network: str = _text()
    transaction_hash: str = _text()
    token: str = _text()
    from_address: str = _text()
    to_address: str = _text()
    base_units: Decimal = _units()
    returned_to: str = _text()
    ordered_by: str = _text()
    ordered_because: str = _text()
    at: datetime = _at()
