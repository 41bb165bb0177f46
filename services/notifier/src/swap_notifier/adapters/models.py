"""Webhook endpoints, as rows.

The table is the source of its schema: a test compares the migrations with it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import CheckConstraint, DateTime, Index, MetaData, Text, text
from sqlmodel import Field, SQLModel

MOMENT: Final = DateTime(timezone=True)


class Table(SQLModel):
    """Base of the tables; its metadata holds this service's alone."""

    metadata = MetaData()


class EndpointFacts(SQLModel):
    """What may be shown of an endpoint: everything but its secrets."""

    id: UUID = Field(primary_key=True)
    app_id: UUID
    url: str = Field(sa_type=Text)
    environment: str = Field(sa_type=Text)
    wants_updates: bool
    wants_notices: bool = Field(sa_column_kwargs={"server_default": text("false")})
    created_at: datetime = Field(sa_type=MOMENT)
    enabled_from: datetime = Field(sa_type=MOMENT)
    disabled_at: datetime | None = Field(sa_type=MOMENT)
    disabled_reason: str | None = Field(sa_type=Text)
    failing_since: datetime | None = Field(sa_type=MOMENT)
    first_delivered_at: datetime | None = Field(sa_type=MOMENT)


class EndpointTable(Table, EndpointFacts, table=True):
    __tablename__ = "endpoint"
    __table_args__ = (
        CheckConstraint("environment IN ('live', 'test')", "endpoint_environment_check"),
        CheckConstraint(
            "(previous_secret IS NULL) = (previous_secret_until IS NULL)", "endpoint_check"
        ),
        CheckConstraint(
            "(earlier_secret IS NULL) = (earlier_secret_until IS NULL)", "endpoint_earlier_secret"
        ),
        CheckConstraint("(disabled_at IS NULL) = (disabled_reason IS NULL)", "endpoint_check1"),
        CheckConstraint(
            "disabled_reason IN ('operator', 'owner', 'gone', 'failing')",
            "endpoint_disabled_reason_check",
        ),
        CheckConstraint("removed_at IS NULL OR disabled_at IS NOT NULL", "endpoint_removed"),
        Index("endpoint_of_app", "app_id"),
    )

    secret: str = Field(sa_type=Text)
    previous_secret: str | None = Field(sa_type=Text)
    previous_secret_until: datetime | None = Field(sa_type=MOMENT)
    earlier_secret: str | None = Field(sa_type=Text)
    earlier_secret_until: datetime | None = Field(sa_type=MOMENT)
    removed_at: datetime | None = Field(sa_type=MOMENT)
