"""The log's record of one request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

REFUSED_FROM: Final = 400  # the first HTTP status of a refusal
READING: Final = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class AnsweredRequest:
    """A request with an API key, after its answer. The body is as it was sent, or its beginning."""

    app_id: UUID
    key_id: UUID
    request_id: str
    method: str
    route: str | None  # None: it led to no endpoint
    status: int
    error_code: str | None
    milliseconds: int
    swap_id: UUID | None
    body: bytes | None

    @property
    def is_successful_read(self) -> bool:
        return self.method in READING and self.status < REFUSED_FROM


@dataclass(frozen=True, slots=True)
class RequestFilter:
    """Which records of one app, newest first."""

    app_id: UUID
    page_size: int
    request_id: str | None = None
    http_status: int | None = None
    failed_only: bool = False
    route: str | None = None
    without_key: UUID | None = None  # a key, the requests of which are left out
    since: datetime | None = None
    starting_after: UUID | None = None  # a record of the list; the page begins behind it


@dataclass(frozen=True, slots=True)
class RecordPage:
    rows: tuple[Mapping[str, object], ...]
    has_more: bool
