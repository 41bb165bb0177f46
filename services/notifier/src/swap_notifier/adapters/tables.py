"""The notifier's own tables, as the migrations make them."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Integer,
    LargeBinary,
    MetaData,
    Text,
    Uuid,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlmodel import Field, SQLModel

METADATA = MetaData()


class Table(SQLModel):
    metadata = METADATA


class EndpointRow(Table, table=True):
    __tablename__ = "endpoint"

    id: UUID = Field(sa_column=Column(Uuid, primary_key=True))
    app_id: UUID = Field(sa_column=Column(Uuid, nullable=False))
    url: str = Field(sa_column=Column(Text, nullable=False))
    environment: str = Field(sa_column=Column(Text, nullable=False))
    wants_updates: bool = Field(sa_column=Column(Boolean, nullable=False))
    wants_notices: bool = Field(sa_column=Column(Boolean, nullable=False))
    secret: str = Field(sa_column=Column(Text, nullable=False))
    previous_secret: str | None = Field(sa_column=Column(Text))
    previous_secret_until: datetime | None = Field(sa_column=Column(DateTime(timezone=True)))
    earlier_secret: str | None = Field(sa_column=Column(Text))
    earlier_secret_until: datetime | None = Field(sa_column=Column(DateTime(timezone=True)))
    created_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False))
    enabled_from: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False))
    disabled_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True)))
    disabled_reason: str | None = Field(sa_column=Column(Text))
    failing_since: datetime | None = Field(sa_column=Column(DateTime(timezone=True)))
    first_delivered_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True)))
    removed_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True)))


class MessageRow(Table, table=True):
    __tablename__ = "webhook_message"

    id: str = Field(sa_column=Column(Text, primary_key=True))
    swap_id: UUID | None = Field(sa_column=Column(Uuid))
    endpoint_id: UUID = Field(sa_column=Column(Uuid, nullable=False))
    sequence: int = Field(sa_column=Column(Integer, nullable=False))
    app_id: UUID = Field(sa_column=Column(Uuid, nullable=False))
    event_type: str = Field(sa_column=Column(Text, nullable=False))
    body: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    state: str = Field(sa_column=Column(Text, nullable=False))
    attempts: int = Field(sa_column=Column(Integer, nullable=False))
    due_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False))
    claim: UUID | None = Field(sa_column=Column(Uuid))
    created_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False))
    ended_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True)))


class AttemptRow(Table, table=True):
    __tablename__ = "delivery_attempt"

    id: int = Field(sa_column=Column(BigInteger, primary_key=True))
    message_id: str = Field(sa_column=Column(Text, nullable=False))
    attempt: int = Field(sa_column=Column(Integer, nullable=False))
    at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False))
    milliseconds: int = Field(sa_column=Column(Integer, nullable=False))
    http_status: int | None = Field(sa_column=Column(Integer))
    error: str | None = Field(sa_column=Column(Text))
    request_headers: dict[str, str] | None = Field(sa_column=Column(JSONB))
    response_headers: dict[str, str] | None = Field(sa_column=Column(JSONB))
    response_body: str | None = Field(sa_column=Column(Text))
    response_body_is_cut: bool = Field(sa_column=Column(Boolean, nullable=False))
