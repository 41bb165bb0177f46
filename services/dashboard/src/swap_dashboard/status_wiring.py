"""Builds the status page: a separate part of the wiring."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from swap_dashboard.adapters.status_api import HttpStatusApi
from swap_dashboard.adapters.status_history import PostgresStatusHistory
from swap_dashboard.http.rendering import Pages
from swap_dashboard.http.status import StatusPages
from swap_dashboard.ports import Clock
from swap_dashboard.settings import DashboardGroup
from swap_dashboard.usecases.record_status import ReadHistory, ReadStatus, RecordStatus
from swap_runtime.postgres.database import Engine


@dataclass(frozen=True, slots=True)
class Status:
    pages: StatusPages
    record: RecordStatus
    close: Callable[[], Awaitable[None]]


def build_status(engine: Engine, group: DashboardGroup, pages: Pages, *, clock: Clock) -> Status:
    api = HttpStatusApi(group.api_url, answer_seconds=group.api_timeout.total_seconds())
    history = PostgresStatusHistory(engine)
    read_status = ReadStatus(api, clock=clock)
    return Status(
        pages=StatusPages(pages, read_status, ReadHistory(history, clock=clock), clock=clock),
        record=RecordStatus(read_status, history, clock=clock),
        close=api.close,
    )
