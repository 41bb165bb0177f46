"""The tables of incarnations and recoveries, as the migrations make them."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ARRAY, BigInteger, Column, Text
from sqlmodel import Field

from swap_settler.adapters.tables import Table, _at, _bigint, _int, _text


class IncarnationRow(Table, table=True):
    __tablename__ = "incarnation"

    id: int = _bigint(key=True)
    system_identifier: int = _bigint()
    timeline: int = _int()
    database_id: int = Field(sa_column=Column(BigInteger, nullable=False))
    table_id: int = Field(sa_column=Column(BigInteger, nullable=False))
    booted_at: datetime = _at()
    uncompared: list[str] = Field(sa_column=Column(ARRAY(Text), nullable=False))
    began_at: datetime = _at()


class RecoveryRow(Table, table=True):
    __tablename__ = "recovery"

    id: int = _bigint(key=True)
    cause: str = _text()
    reason: str = _text()
    began_at: datetime = _at()
    ended_at: datetime | None = _at(null=True)
    ended_by: str | None = _text(null=True)
    ended_because: str | None = _text(null=True)
