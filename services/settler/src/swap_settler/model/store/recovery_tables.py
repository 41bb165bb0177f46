"""The tables of incarnations and recoveries, as the migrations make them."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from uuid import UUID

from sqlalchemy import ARRAY, BigInteger, Column, Text
from sqlmodel import Field

from swap_settler.model.store.tables import Table, _at, _bigint, _int, _text, _units, _uuid


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
    evidence: int = _int()


class RecoveryHeadRow(Table, table=True):
    __tablename__ = "recovery_head"

    recovery_id: int = _bigint(key=True)
    network: str = _text(key=True)
    evidence: int = _int()
    number: int = _bigint()


class RecoveryFenceRow(Table, table=True):
    __tablename__ = "recovery_fence"

    recovery_id: int = _bigint(key=True)
    network: str = _text(key=True)
    signer: str = _text(key=True)
    first_nonce: int = _bigint()
    end_nonce: int = _bigint()
    beyond: int = _int()
    at: datetime = _at()


class RetainedHoldRow(Table, table=True):
    __tablename__ = "retained_hold"

    id: int = _bigint(key=True)
    recovery_id: int = _bigint()
    swap_id: UUID | None = _uuid(null=True)
    intent_id: UUID | None = _uuid(null=True)
    deposit_id: UUID | None = _uuid(null=True)
    kind: str = _text()
    network: str = _text()
    paid_id: Decimal | None = _units(null=True)
    since: datetime = _at()
    released_at: datetime | None = _at(null=True)
    released_by: str | None = _text(null=True)
    released_because: str | None = _text(null=True)
