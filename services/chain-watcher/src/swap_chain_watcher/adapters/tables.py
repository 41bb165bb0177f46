"""The watcher's own tables, as the migrations make them."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Integer,
    MetaData,
    Numeric,
    SmallInteger,
    Text,
    Uuid,
)
from sqlalchemy.dialects.postgresql import INTERVAL
from sqlmodel import Field, SQLModel

METADATA = MetaData()


class Table(SQLModel):
    metadata = METADATA


class ChainBlockRow(Table, table=True):
    """A block we were told, also one that a reorg took."""

    __tablename__ = "chain_block"

    network: str = Field(sa_column=Column(Text, primary_key=True))
    hash: str = Field(sa_column=Column(Text, primary_key=True))
    number: int = Field(sa_column=Column(BigInteger, nullable=False))
    parent_hash: str = Field(sa_column=Column(Text, nullable=False))
    time: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False))
    state: str = Field(sa_column=Column(Text, nullable=False))
    finalized: bool = Field(sa_column=Column(Boolean, nullable=False))
    provider: str | None = Field(sa_column=Column(Text, nullable=True))


class WatchCursorRow(Table, table=True):
    """Where one network stands; `progress` and `halted_network` show it to other services."""

    __tablename__ = "watch_cursor"

    network: str = Field(sa_column=Column(Text, primary_key=True))
    number: int = Field(sa_column=Column(BigInteger, nullable=False))
    hash: str = Field(sa_column=Column(Text, nullable=False))
    parent_hash: str = Field(sa_column=Column(Text, nullable=False))
    time: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False))
    finalized_number: int = Field(sa_column=Column(BigInteger, nullable=False))
    start_number: int = Field(sa_column=Column(BigInteger, nullable=False))
    checked_number: int = Field(sa_column=Column(BigInteger, nullable=False))
    last_outbox_id: int = Field(sa_column=Column(BigInteger, nullable=False))
    halted_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True), nullable=True))
    halt_reason: str | None = Field(sa_column=Column(Text, nullable=True))
    counted_number: int | None = Field(sa_column=Column(BigInteger, nullable=True))
    counted_time: datetime | None = Field(sa_column=Column(DateTime(timezone=True), nullable=True))
    counted_since: datetime | None = Field(sa_column=Column(DateTime(timezone=True), nullable=True))
    revision: int = Field(sa_column=Column(BigInteger, nullable=False))


class PastHaltRow(Table, table=True):
    """A halt that a person ended; the view `network_halt` shows it beside those that last."""

    __tablename__ = "past_halt"

    id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    network: str = Field(sa_column=Column(Text, nullable=False))
    halted_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False))
    resumed_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False))
    reason: str = Field(sa_column=Column(Text, nullable=False))


class MovementRow(Table, table=True):
    """One movement of value in one block, and what was last published about it."""

    __tablename__ = "movement"

    network: str = Field(sa_column=Column(Text, primary_key=True))
    block_hash: str = Field(sa_column=Column(Text, primary_key=True))
    id: UUID = Field(sa_column=Column(Uuid, primary_key=True))
    block_number: int = Field(sa_column=Column(BigInteger, nullable=False))
    kind: str = Field(sa_column=Column(Text, nullable=False))
    transaction_hash: str | None = Field(sa_column=Column(Text, nullable=True))
    token: str = Field(sa_column=Column(Text, nullable=False))
    from_address: str | None = Field(sa_column=Column(Text, nullable=True))
    to_address: str = Field(sa_column=Column(Text, nullable=False))
    base_units: Decimal = Field(sa_column=Column(Numeric(78, 0), nullable=False))
    claimed_by: UUID | None = Field(sa_column=Column(Uuid, nullable=True))
    internal: bool = Field(sa_column=Column(Boolean, nullable=False))
    paid_id: Decimal | None = Field(sa_column=Column(Numeric(78, 0), nullable=True))
    sequence_number: int | None = Field(sa_column=Column(BigInteger, nullable=True))
    memo: str | None = Field(sa_column=Column(Text, nullable=True))
    quarantine_reason: str | None = Field(sa_column=Column(Text, nullable=True))
    version: int = Field(sa_column=Column(Integer, nullable=False))
    state: str | None = Field(sa_column=Column(Text, nullable=True))
    confirmations_required: int | None = Field(sa_column=Column(Integer, nullable=True))
    waits_for_finality: bool | None = Field(sa_column=Column(Boolean, nullable=True))
    total_before: Decimal | None = Field(sa_column=Column(Numeric(78, 0), nullable=True))
    counted_number: int | None = Field(sa_column=Column(BigInteger, nullable=True))
    came_after: datetime | None = Field(sa_column=Column(DateTime(timezone=True), nullable=True))
    provider: str | None = Field(sa_column=Column(Text, nullable=True))
    providers_required: int | None = Field(sa_column=Column(SmallInteger, nullable=True))
    verified_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True), nullable=True))
    withheld_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True), nullable=True))
    trusted_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True), nullable=True))


class OneProviderCapRow(Table, table=True):
    """What of a token one provider's report may confirm; shown by `one_provider_exposure`."""

    __tablename__ = "one_provider_cap"

    network: str = Field(sa_column=Column(Text, primary_key=True))
    token: str = Field(sa_column=Column(Text, primary_key=True))
    base_units: Decimal = Field(sa_column=Column(Numeric(78, 0), nullable=False))
    span: timedelta = Field(sa_column=Column(INTERVAL, nullable=False))


class DepositTargetRow(Table, table=True):
    """A deposit address that the settler assigned; `watched_target` shows those followed."""

    __tablename__ = "deposit_target"

    network: str = Field(sa_column=Column(Text, primary_key=True))
    address: str = Field(sa_column=Column(Text, primary_key=True))
    since: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False))
    position: int | None = Field(sa_column=Column(BigInteger, nullable=True, unique=True))
    looked_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False))
    counted_number: int | None = Field(sa_column=Column(BigInteger, nullable=True))
    counted_time: datetime | None = Field(sa_column=Column(DateTime(timezone=True), nullable=True))


class HintRow(Table, table=True):
    """A transaction that somebody says pays us, and when it is looked for again."""

    __tablename__ = "hint"

    network: str = Field(sa_column=Column(Text, primary_key=True))
    transaction_hash: str = Field(sa_column=Column(Text, primary_key=True))
    due_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False))
    pause: timedelta = Field(sa_column=Column(INTERVAL, nullable=False))
    ends_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False))
