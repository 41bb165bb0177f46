"""The api's tables as its migrations make them. Hot paths write SQL; a test compares the two."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Integer,
    Interval,
    LargeBinary,
    MetaData,
    Numeric,
    Text,
)
from sqlalchemy import Uuid as UuidType
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeEngine
from sqlmodel import Field, SQLModel


class Table(SQLModel):
    """Base of the tables; its metadata holds this service's alone."""

    metadata = MetaData()


def _column(kind: TypeEngine[Any], *, null: bool = False, key: bool = False) -> Column[Any]:
    return Column(kind, nullable=null, primary_key=key)


MOMENT = DateTime(timezone=True)


class PartnerTable(Table, table=True):
    __tablename__ = "partner"

    id: UUID = Field(sa_column=_column(UuidType(), key=True))
    name: str = Field(sa_column=_column(Text()))
    created_at: datetime = Field(sa_column=_column(MOMENT))


class AppTable(Table, table=True):
    __tablename__ = "app"

    id: UUID = Field(sa_column=_column(UuidType(), key=True))
    partner_id: UUID = Field(sa_column=_column(UuidType()))
    name: str = Field(sa_column=_column(Text()))
    environment: str = Field(sa_column=_column(Text()))
    reads_per_minute: int | None = Field(sa_column=_column(Integer(), null=True))
    prices_per_minute: int | None = Field(sa_column=_column(Integer(), null=True))
    creates_per_minute: int | None = Field(sa_column=_column(Integer(), null=True))
    ceiling_factor: int | None = Field(sa_column=_column(Integer(), null=True))
    pending_swaps_max: int | None = Field(sa_column=_column(Integer(), null=True))
    limits_lifted: bool = Field(sa_column=_column(Boolean()))
    created_at: datetime = Field(sa_column=_column(MOMENT))
    swap_lifetime: timedelta | None = Field(sa_column=_column(Interval(), null=True))
    fee_basis_points: int = Field(sa_column=_column(Integer()))


class ApiKeyTable(Table, table=True):
    __tablename__ = "api_key"

    id: UUID = Field(sa_column=_column(UuidType(), key=True))
    app_id: UUID = Field(sa_column=_column(UuidType()))
    kind: str = Field(sa_column=_column(Text()))
    hash: bytes = Field(sa_column=_column(LargeBinary()))
    last_four: str = Field(sa_column=_column(Text()))
    created_at: datetime = Field(sa_column=_column(MOMENT))
    expires_at: datetime | None = Field(sa_column=_column(MOMENT, null=True))
    revoked_at: datetime | None = Field(sa_column=_column(MOMENT, null=True))
    last_used_at: datetime | None = Field(sa_column=_column(MOMENT, null=True))
    label: str | None = Field(sa_column=_column(Text(), null=True))


class MemberTable(Table, table=True):
    __tablename__ = "member"

    id: UUID = Field(sa_column=_column(UuidType(), key=True))
    partner_id: UUID = Field(sa_column=_column(UuidType()))
    name: str = Field(sa_column=_column(Text()))
    role: str = Field(sa_column=_column(Text()))
    created_at: datetime = Field(sa_column=_column(MOMENT))
    removed_at: datetime | None = Field(sa_column=_column(MOMENT, null=True))


class InvitationTable(Table, table=True):
    __tablename__ = "invitation"

    id: UUID = Field(sa_column=_column(UuidType(), key=True))
    partner_id: UUID = Field(sa_column=_column(UuidType()))
    name: str = Field(sa_column=_column(Text()))
    role: str = Field(sa_column=_column(Text()))
    hash: bytes = Field(sa_column=_column(LargeBinary()))
    invited_by: UUID | None = Field(sa_column=_column(UuidType(), null=True))
    created_at: datetime = Field(sa_column=_column(MOMENT))
    expires_at: datetime = Field(sa_column=_column(MOMENT))
    accepted_at: datetime | None = Field(sa_column=_column(MOMENT, null=True))
    revoked_at: datetime | None = Field(sa_column=_column(MOMENT, null=True))


class AccessTokenTable(Table, table=True):
    __tablename__ = "access_token"

    id: UUID = Field(sa_column=_column(UuidType(), key=True))
    member_id: UUID = Field(sa_column=_column(UuidType()))
    label: str = Field(sa_column=_column(Text()))
    hash: bytes = Field(sa_column=_column(LargeBinary()))
    last_four: str = Field(sa_column=_column(Text()))
    created_at: datetime = Field(sa_column=_column(MOMENT))
    expires_at: datetime = Field(sa_column=_column(MOMENT))
    revoked_at: datetime | None = Field(sa_column=_column(MOMENT, null=True))
    last_used_at: datetime | None = Field(sa_column=_column(MOMENT, null=True))


class AuditEntryTable(Table, table=True):
    __tablename__ = "audit_entry"

    id: int = Field(sa_column=_column(BigInteger(), key=True))
    partner_id: UUID = Field(sa_column=_column(UuidType()))
    at: datetime = Field(sa_column=_column(MOMENT))
    actor: str = Field(sa_column=_column(Text()))
    member_id: UUID | None = Field(sa_column=_column(UuidType(), null=True))
    request_id: str = Field(sa_column=_column(Text()))
    action: str = Field(sa_column=_column(Text()))
    subject_id: UUID = Field(sa_column=_column(UuidType()))
    details: dict[str, Any] = Field(sa_column=_column(JSONB()))


class IdempotencyTable(Table, table=True):
    __tablename__ = "idempotency"

    app_id: UUID = Field(sa_column=_column(UuidType(), key=True))
    key: str = Field(sa_column=_column(Text(), key=True))
    body_hash: bytes = Field(sa_column=_column(LargeBinary()))
    claim: UUID = Field(sa_column=_column(UuidType()))
    claimed_until: datetime = Field(sa_column=_column(MOMENT))
    created_at: datetime = Field(sa_column=_column(MOMENT))
    swap_id: UUID | None = Field(sa_column=_column(UuidType(), null=True))
    answer: bytes | None = Field(sa_column=_column(LargeBinary(), null=True))


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


class TransactionHashTable(Table, table=True):
    __tablename__ = "transaction_hash"

    app_id: UUID = Field(sa_column=_column(UuidType(), key=True))
    hash: str = Field(sa_column=_column(Text(), key=True))
    swap_id: UUID = Field(sa_column=_column(UuidType(), key=True))


class SignRequestTable(Table, table=True):
    __tablename__ = "sign_request"

    swap_id: UUID = Field(sa_column=_column(UuidType(), key=True))
    signer: str = Field(sa_column=_column(Text(), key=True))
    issue: int = Field(sa_column=_column(Integer(), key=True))
    standard: str = Field(sa_column=_column(Text()))
    nonce: Decimal = Field(sa_column=_column(Numeric(78, 0)))
    valid_after: int = Field(sa_column=_column(BigInteger()))
    valid_before: int = Field(sa_column=_column(BigInteger()))
    submission: int | None = Field(sa_column=_column(Integer(), null=True))
    is_refused: bool = Field(sa_column=_column(Boolean()))
    created_at: datetime = Field(sa_column=_column(MOMENT))
    submitted_at: datetime | None = Field(sa_column=_column(MOMENT, null=True))


class DepositHintTable(Table, table=True):
    __tablename__ = "deposit_hint"

    swap_id: UUID = Field(sa_column=_column(UuidType(), key=True))
    transaction_hash: str = Field(sa_column=_column(Text(), key=True))
    created_at: datetime = Field(sa_column=_column(MOMENT))


class DepositAttachmentTable(Table, table=True):
    __tablename__ = "deposit_attachment"

    swap_id: UUID = Field(sa_column=_column(UuidType(), key=True))
    deposit_id: UUID = Field(sa_column=_column(UuidType(), key=True))
    submission: int = Field(sa_column=_column(Integer()))
    submitted_at: datetime = Field(sa_column=_column(MOMENT))
