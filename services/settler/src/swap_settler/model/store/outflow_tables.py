"""The tables of what may leave, and to whom it may not, as the migrations make them."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from sqlalchemy import Column, DateTime, Interval
from sqlmodel import Field

from swap_settler.model.store.tables import Table, _at, _bigint, _bool, _int, _text, _units, _uuid


class OutflowCapRow(Table, table=True):
    __tablename__ = "outflow_cap"

    id: int = _bigint(key=True)
    network: str = _text()
    token: str | None = _text(null=True)
    app_id: UUID | None = _uuid(null=True)
    units: Decimal | None = _units(null=True)
    span: timedelta = Field(sa_column=Column(Interval, nullable=False))
    set_at: datetime = _at()
    set_by: str = _text()
    set_because: str = _text()


class OutflowSpentRow(Table, table=True):
    __tablename__ = "outflow_spent"

    cap_id: int = _bigint(key=True)
    until: datetime = Field(sa_column=Column(DateTime(timezone=True), primary_key=True))
    spent: Decimal = _units()


class OutflowCountedRow(Table, table=True):
    __tablename__ = "outflow_counted"

    intent_id: UUID = _uuid(key=True)
    cap_id: int = _bigint(key=True)
    until: datetime = _at()
    amount: Decimal = _units()


class OutflowQueueRow(Table, table=True):
    __tablename__ = "outflow_queue"

    id: int = _bigint(key=True)
    intent_id: UUID = _uuid()
    cap_id: int | None = _bigint(null=True)
    network: str = _text()
    token: str = _text()
    created_at: datetime = _at()
    amount: Decimal | None = _units(null=True)
    since: datetime = _at()
    is_too_large: bool = _bool()


class OutflowPassRow(Table, table=True):
    __tablename__ = "outflow_pass"

    intent_id: UUID = _uuid(key=True)
    network: str = _text()
    passed_at: datetime = _at()
    passed_by: str = _text()
    passed_because: str = _text()
    is_used: bool = _bool()


class BlockedAddressRow(Table, table=True):
    __tablename__ = "blocked_address"

    id: int = _bigint(key=True)
    address: str = _text()
    network: str | None = _text(null=True)
    blocked_at: datetime = _at()
    blocked_by: str = _text()
    blocked_because: str = _text()
    lifted_at: datetime | None = _at(null=True)
    lifted_by: str | None = _text(null=True)
    lifted_because: str | None = _text(null=True)


class BlockedListRow(Table, table=True):
    __tablename__ = "blocked_list"

    id: int = _int(key=True)
    version: int = _bigint()


class NetworkSilenceRow(Table, table=True):
    __tablename__ = "network_silence"

    id: int = _bigint(key=True)
    network: str = _text()
    began_at: datetime = _at()
    ended_at: datetime | None = _at(null=True)
