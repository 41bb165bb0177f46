"""The api's table of swaps as an ORM model, for the plain baseline."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    Text,
)
from sqlalchemy import Uuid as UuidType
from sqlalchemy.types import TypeEngine
from sqlmodel import Field, SQLModel

MOMENT = DateTime(timezone=True)


def _column(kind: TypeEngine[Any], *, null: bool = False, key: bool = False) -> Column[Any]:
    return Column(kind, nullable=null, primary_key=key)


class Table(SQLModel):
    """Base of this table; the api's base holds the tables with their schema."""

    metadata = MetaData()


class SwapTable(Table, table=True):
    __tablename__ = "swap"

    id: UUID = Field(sa_column=_column(UuidType(), key=True))
    app_id: UUID = Field(sa_column=_column(UuidType()))
    sequence_number: int = Field(sa_column=_column(BigInteger()))
    sequence: int = Field(sa_column=_column(Integer()))
    status: str = Field(sa_column=_column(Text()))
    client: str | None = Field(sa_column=_column(Text(), null=True))
    is_unpaid: bool = Field(sa_column=_column(Boolean()))
    source_network: str = Field(sa_column=_column(Text()))
    destination_network: str = Field(sa_column=_column(Text()))
    source_address: str | None = Field(sa_column=_column(Text(), null=True))
    destination_address: str = Field(sa_column=_column(Text()))
    refund_address: str | None = Field(sa_column=_column(Text(), null=True))
    reference_id: str | None = Field(sa_column=_column(Text(), null=True))
    created_at: datetime = Field(sa_column=_column(MOMENT))
    expires_at: datetime = Field(sa_column=_column(MOMENT))
    document: bytes = Field(sa_column=_column(LargeBinary()))
    gaps: str | None = Field(sa_column=_column(Text(), null=True))
    action: bytes | None = Field(sa_column=_column(LargeBinary(), null=True))
    step_status: str = Field(sa_column=_column(Text()))
    gasless: str | None = Field(sa_column=_column(Text(), null=True))
    deposit_address: str | None = Field(sa_column=_column(Text(), null=True))
    closed_at: datetime | None = Field(sa_column=_column(MOMENT, null=True))
    value_usd_micros: Decimal | None = Field(sa_column=_column(Numeric(78, 0), null=True))
