"""Organizations, apps, keys, members, invitations and tokens, as rows.

Each is a pair: the facts that may be shown, and the table, which adds what only statements use.
The tables are the source of the schema: a test compares the migrations with them.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from pydantic import computed_field
from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    DateTime,
    Identity,
    Index,
    MetaData,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlmodel import Field, SQLModel

MOMENT: Final = DateTime(timezone=True)
IS_ROLE: Final = "role IN ('owner', 'admin', 'developer', 'viewer')"
IS_OPEN: Final = text("accepted_at IS NULL AND revoked_at IS NULL")


class Table(SQLModel):
    """Base of the tables; its metadata holds this service's alone."""

    metadata = MetaData()


class ChangedFacts(SQLModel):
    """What every audited statement returns."""

    id: UUID


class ChangeFacts(SQLModel):
    """What may be shown of a line of the audit log."""

    id: int = Field(sa_type=BigInteger, primary_key=True, sa_column_args=(Identity(always=True),))
    at: datetime = Field(sa_type=MOMENT)
    actor: str = Field(sa_type=Text)
    member_id: UUID | None
    request_id: str = Field(sa_type=Text)
    action: str = Field(sa_type=Text)
    subject_id: UUID
    details: dict[str, Any] = Field(sa_type=JSONB)


class AuditEntryTable(Table, ChangeFacts, table=True):
    __tablename__ = "audit_entry"
    __table_args__ = (Index("audit_entry_partner", "partner_id", text("id DESC")),)

    partner_id: UUID


class OrganizationFacts(SQLModel):
    """What may be shown of an organization."""

    id: UUID = Field(primary_key=True)
    name: str = Field(sa_type=Text)
    created_at: datetime = Field(sa_type=MOMENT)


class PartnerTable(Table, OrganizationFacts, table=True):
    __tablename__ = "partner"
    __table_args__ = (CheckConstraint("name <> ''", "partner_name_check"),)


class AppFacts(SQLModel):
    """What may be shown of an app."""

    id: UUID = Field(primary_key=True)
    partner_id: UUID = Field(foreign_key="partner.id")
    name: str = Field(sa_type=Text)
    environment: str = Field(sa_type=Text)
    reads_per_minute: int | None = None
    prices_per_minute: int | None = None
    creates_per_minute: int | None = None
    ceiling_factor: int | None = None
    pending_swaps_max: int | None = None
    limits_lifted: bool = Field(sa_column_kwargs={"server_default": text("false")})
    swap_lifetime: timedelta | None = Field(exclude=True)
    created_at: datetime = Field(sa_type=MOMENT)
    fee_basis_points: int = Field(sa_column_kwargs={"server_default": text("0")})
    frame_origins: list[str] = Field(
        sa_type=ARRAY(Text), sa_column_kwargs={"server_default": text("'{}'")}
    )

    @computed_field
    def swap_lifetime_seconds(self) -> int | None:
        """Return how long swaps of a test app wait for their deposit."""
        lifetime = self.swap_lifetime
        return None if lifetime is None else int(lifetime.total_seconds())


class AppTable(Table, AppFacts, table=True):
    __tablename__ = "app"
    __table_args__ = (
        CheckConstraint("name <> ''", "app_name_check"),
        CheckConstraint("environment IN ('live', 'test')", "app_environment_check"),
        CheckConstraint("reads_per_minute > 0", "app_reads_per_minute_check"),
        CheckConstraint("prices_per_minute > 0", "app_prices_per_minute_check"),
        CheckConstraint("creates_per_minute > 0", "app_creates_per_minute_check"),
        CheckConstraint("ceiling_factor > 0", "app_ceiling_factor_check"),
        CheckConstraint("pending_swaps_max > 0", "app_pending_swaps_max_check"),
        CheckConstraint(
            "swap_lifetime IS NULL OR (swap_lifetime > '0' AND environment = 'test')", "app_check"
        ),
        CheckConstraint(
            "fee_basis_points >= 0 AND fee_basis_points <= 1000", "app_fee_basis_points_check"
        ),
        Index("app_partner", "partner_id"),
    )


class KeyFacts(SQLModel):
    """What may be shown of an API key."""

    id: UUID = Field(primary_key=True)
    app_id: UUID = Field(foreign_key="app.id")
    kind: str = Field(sa_type=Text)
    label: str | None = Field(sa_type=Text)
    last_four: str = Field(sa_type=Text)
    created_at: datetime = Field(sa_type=MOMENT)
    expires_at: datetime | None = Field(sa_type=MOMENT)
    revoked_at: datetime | None = Field(sa_type=MOMENT)
    last_used_at: datetime | None = Field(sa_type=MOMENT)
    allowed_origins: list[str] = Field(
        sa_type=ARRAY(Text), sa_column_kwargs={"server_default": text("'{}'")}
    )


class ApiKeyTable(Table, KeyFacts, table=True):
    __tablename__ = "api_key"
    __table_args__ = (
        CheckConstraint("kind IN ('secret', 'publishable')", "api_key_kind_check"),
        CheckConstraint("octet_length(hash) = 32", "api_key_hash_check"),
        CheckConstraint("length(last_four) = 4", "api_key_last_four_check"),
        CheckConstraint("label <> ''", "api_key_label_check"),
        CheckConstraint("kind = 'publishable' OR allowed_origins = '{}'", "api_key_origins_check"),
        UniqueConstraint("hash", name="api_key_hash_key"),
        Index("api_key_app", "app_id"),
    )

    hash: bytes


class MemberFacts(SQLModel):
    """What may be shown of a member."""

    id: UUID = Field(primary_key=True)
    partner_id: UUID = Field(foreign_key="partner.id")
    name: str = Field(sa_type=Text)
    role: str = Field(sa_type=Text)
    created_at: datetime = Field(sa_type=MOMENT)


class MemberTable(Table, MemberFacts, table=True):
    __tablename__ = "member"
    __table_args__ = (
        CheckConstraint("name <> ''", "member_name_check"),
        CheckConstraint(IS_ROLE, "member_role_check"),
        Index(
            "member_partner",
            "partner_id",
            "created_at",
            "id",
            postgresql_where=text("removed_at IS NULL"),
        ),
    )

    removed_at: datetime | None = Field(sa_type=MOMENT)


class InvitationFacts(SQLModel):
    """What may be shown of an invitation."""

    id: UUID = Field(primary_key=True)
    partner_id: UUID = Field(foreign_key="partner.id")
    name: str = Field(sa_type=Text)
    role: str = Field(sa_type=Text)
    created_at: datetime = Field(sa_type=MOMENT)
    expires_at: datetime = Field(sa_type=MOMENT)


class InvitationTable(Table, InvitationFacts, table=True):
    __tablename__ = "invitation"
    __table_args__ = (
        CheckConstraint("name <> ''", "invitation_name_check"),
        CheckConstraint(IS_ROLE, "invitation_role_check"),
        CheckConstraint("octet_length(hash) = 32", "invitation_hash_check"),
        UniqueConstraint("hash", name="invitation_hash_key"),
        Index("invitation_partner", "partner_id", "created_at", "id", postgresql_where=IS_OPEN),
        Index("invitation_inviter", "invited_by", postgresql_where=IS_OPEN),
    )

    hash: bytes
    invited_by: UUID | None = Field(foreign_key="member.id")
    accepted_at: datetime | None = Field(sa_type=MOMENT)
    revoked_at: datetime | None = Field(sa_type=MOMENT)


class TokenFacts(SQLModel):
    """What may be shown of an access token."""

    id: UUID = Field(primary_key=True)
    label: str = Field(sa_type=Text)
    last_four: str = Field(sa_type=Text)
    created_at: datetime = Field(sa_type=MOMENT)
    expires_at: datetime = Field(sa_type=MOMENT)
    last_used_at: datetime | None = Field(sa_type=MOMENT)


class AccessTokenTable(Table, TokenFacts, table=True):
    __tablename__ = "access_token"
    __table_args__ = (
        CheckConstraint("label <> ''", "access_token_label_check"),
        CheckConstraint("octet_length(hash) = 32", "access_token_hash_check"),
        CheckConstraint("length(last_four) = 4", "access_token_last_four_check"),
        UniqueConstraint("hash", name="access_token_hash_key"),
        Index("access_token_member", "member_id", "created_at", "id"),
    )

    member_id: UUID = Field(foreign_key="member.id")
    hash: bytes
    revoked_at: datetime | None = Field(sa_type=MOMENT)
