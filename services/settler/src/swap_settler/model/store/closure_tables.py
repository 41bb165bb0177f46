"""The table of closed networks, as the migrations make it."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Column, DateTime
from sqlmodel import Field

from swap_settler.model.store.tables import Table, _at, _bigint, _text


class NetworkClosureRow(Table, table=True):
    __tablename__ = "network_closure"

    id: int = _bigint(key=True)
    network: str = _text()
    closed_at: datetime = _at()
    closed_by: str = _text()
    closed_because: str = _text()
    opened_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True), nullable=True))
    opened_by: str | None = _text(null=True)
    opened_because: str | None = _text(null=True)
