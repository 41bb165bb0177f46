"""The table of what the owner took out of the Treasury, as the migrations make it."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from uuid import UUID

from swap_settler.model.store.tables import Table, _at, _bigint, _bool, _int, _text, _units, _uuid


class WithdrawalRow(Table, table=True):
    __tablename__ = "withdrawal"

    id: UUID = _uuid(key=True)
    version: int = _int()
    state: str = _text()
    is_booked: bool = _bool()
    network: str = _text()
    token: str = _text()
    treasury: str = _text()
    to_address: str = _text()
    base_units: Decimal = _units()
    transaction_hash: str = _text()
    block_number: int = _bigint()
    block_hash: str = _text()
    block_time: datetime = _at()
