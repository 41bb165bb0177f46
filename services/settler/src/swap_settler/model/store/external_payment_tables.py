"""The table of payments whose ids the Treasury took without us, as the migrations make it."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from uuid import UUID

from swap_settler.model.store.tables import Table, _at, _bigint, _text, _units, _uuid


class ExternalPaymentRow(Table, table=True):
    __tablename__ = "taken_payment"

    intent_id: UUID = _uuid(key=True)
    network: str = _text()
    paid_id: Decimal = _units()
    transaction_hash: str = _text()
    block_number: int = _bigint()
    block_hash: str = _text()
    token: str = _text()
    to_address: str = _text()
    base_units: Decimal = _units()
    outcome: str = _text()
    named_by: str = _text()
    named_because: str = _text()
    at: datetime = _at()
