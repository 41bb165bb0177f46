"""The table of the networks that are not paid for, as the migrations make it."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Column, DateTime
from sqlmodel import Field

from swap_settler.model.store.tables import Table, _at, _bigint, _text


class SourceStopRow(Table, table=True):
    __tablename__ = "source_stop"

    id: int = _bigint(key=True)
    network: str = _text()
    stopped_at: datetime = _at()
    stopped_because: str = _text()
    lifted_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True), nullable=True))
    lifted_by: str | None = _text(null=True)
    lifted_because: str | None = _text(null=True)
