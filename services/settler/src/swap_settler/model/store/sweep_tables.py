"""The tables of deposit addresses and their sweeps, as the migrations make them."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from uuid import UUID

from swap_settler.model.store.tables import Table, _at, _bigint, _bool, _int, _text, _units, _uuid


class DepositAddressRow(Table, table=True):
    __tablename__ = "deposit_address"

    network: str = _text(key=True)
    address: str = _text(key=True)
    sequence_number: int = _bigint()
    swap_id: UUID = _uuid()


class SweptRow(Table, table=True):
    __tablename__ = "swept"

    id: UUID = _uuid(key=True)
    version: int = _int()
    state: str = _text()
    is_booked: bool = _bool()
    network: str = _text()
    token: str = _text()
    from_address: str = _text()
    base_units: Decimal = _units()
    transaction_hash: str = _text()
    block_number: int = _bigint()
    block_hash: str = _text()
    block_time: datetime = _at()
    is_nobodys: bool = _bool()
    is_quarantined: bool = _bool()


class SweepDueRow(Table, table=True):
    __tablename__ = "sweep_due"

    network: str = _text(key=True)
    address: str = _text(key=True)
    token: str = _text(key=True)
    due_at: datetime = _at()
    is_ordered: bool = _bool()


class SweepRow(Table, table=True):
    __tablename__ = "sweep"

    intent_id: UUID = _uuid(key=True)
    network: str = _text()
    address: str = _text()
    token: str = _text()
    sequence_number: int = _bigint()
