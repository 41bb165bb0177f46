"""Caps and blocked addresses, as rows.

The tables are the source of their schema: a test compares the migrations with them.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    DateTime,
    Identity,
    Index,
    MetaData,
    Numeric,
    Text,
    UniqueConstraint,
    text,
)
from sqlmodel import Field, SQLModel

MOMENT: Final = DateTime(timezone=True)
UNITS: Final = Numeric(78, 0)
NOW: Final = {"server_default": text("now()")}


class Table(SQLModel):
    """Base of the tables; its metadata holds these alone."""

    metadata = MetaData()


class CapFacts(SQLModel):
    """What may leave a network in a while."""

    network: str = Field(sa_type=Text)
    token: str | None = Field(sa_type=Text)  # None: every token, in millionths of a dollar
    app_id: UUID | None  # None: every app
    units: int | None = Field(sa_type=UNITS)  # base units; None: lifted
    span: timedelta
    set_at: datetime = Field(sa_type=MOMENT, sa_column_kwargs=NOW)
    set_by: str = Field(sa_type=Text)
    set_because: str = Field(sa_type=Text)


class OutflowCapTable(Table, CapFacts, table=True):
    __tablename__ = "outflow_cap"
    __table_args__ = (
        CheckConstraint("units >= 0", "outflow_cap_units_check"),
        CheckConstraint("span >= '1 second'", "outflow_cap_span_check"),
        UniqueConstraint(
            "network",
            "token",
            "app_id",
            name="outflow_cap_network_token_app_id_key",
            postgresql_nulls_not_distinct=True,
        ),
    )

    id: int = Field(sa_type=BigInteger, primary_key=True, sa_column_args=(Identity(always=True),))


class BlockedAddressTable(Table, table=True):
    """An address that is not paid."""

    __tablename__ = "blocked_address"
    __table_args__ = (
        CheckConstraint("address = lower(address)", "blocked_address_address_check"),
        CheckConstraint(
            "(lifted_at IS NULL) = (lifted_by IS NULL)"
            " AND (lifted_at IS NULL) = (lifted_because IS NULL)",
            "blocked_address_check",
        ),
        Index(
            "one_block",
            "address",
            "network",
            unique=True,
            postgresql_where=text("lifted_at IS NULL"),
            postgresql_nulls_not_distinct=True,
        ),
    )

    id: int = Field(sa_type=BigInteger, primary_key=True, sa_column_args=(Identity(always=True),))
    address: str = Field(sa_type=Text)  # lower case
    network: str | None = Field(sa_type=Text)  # None: on all
    blocked_at: datetime = Field(sa_type=MOMENT, sa_column_kwargs=NOW)
    blocked_by: str = Field(sa_type=Text)
    blocked_because: str = Field(sa_type=Text)
    lifted_at: datetime | None = Field(sa_type=MOMENT)
    lifted_by: str | None = Field(sa_type=Text)
    lifted_because: str | None = Field(sa_type=Text)
