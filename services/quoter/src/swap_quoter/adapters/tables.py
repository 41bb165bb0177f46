"""The quoter's own tables, as the migrations make them."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from uuid import UUID

from sqlalchemy import BigInteger, Column, DateTime, Integer, MetaData, Numeric, Text, Uuid
from sqlmodel import Field, SQLModel

METADATA = MetaData()


class Table(SQLModel):
    metadata = METADATA


class InventoryRow(Table, table=True):
    __tablename__ = "inventory"

    network: str = Field(sa_column=Column(Text, primary_key=True))
    token: str = Field(sa_column=Column(Text, primary_key=True))
    version: int = Field(sa_column=Column(BigInteger, nullable=False))
    available_base_units: Decimal = Field(sa_column=Column(Numeric(78, 0), nullable=False))


class CompletionRow(Table, table=True):
    __tablename__ = "completion"

    swap_id: UUID = Field(sa_column=Column(Uuid, primary_key=True))
    source_network: str = Field(sa_column=Column(Text, nullable=False))
    source_token: str = Field(sa_column=Column(Text, nullable=False))
    destination_network: str = Field(sa_column=Column(Text, nullable=False))
    destination_token: str = Field(sa_column=Column(Text, nullable=False))
    milliseconds: int = Field(sa_column=Column(BigInteger, nullable=False))
    closed_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False))


class CompletionAverageRow(Table, table=True):
    __tablename__ = "completion_average"

    source_network: str = Field(sa_column=Column(Text, primary_key=True))
    source_token: str = Field(sa_column=Column(Text, primary_key=True))
    destination_network: str = Field(sa_column=Column(Text, primary_key=True))
    destination_token: str = Field(sa_column=Column(Text, primary_key=True))
    milliseconds: int = Field(sa_column=Column(BigInteger, nullable=False))
    swaps: int = Field(sa_column=Column(Integer, nullable=False))
