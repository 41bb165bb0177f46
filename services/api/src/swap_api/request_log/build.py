"""Builds the log of requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from swap_api.request_log.store.records import PostgresRequestRecords
from swap_api.request_log.usecases.record_requests import DeclaredMembers, RecordRequests
from swap_api.settings import ApiGroup
from swap_runtime.process.service import Service

SAVE_INTERVAL: Final = timedelta(seconds=1)
FORGET_INTERVAL: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class RequestLog:
    record_requests: RecordRequests

    def watch(self, service: Service) -> None:
        """Save what waits each second and at the end, and delete what is old."""
        service.every("save-request-records", SAVE_INTERVAL, self.record_requests.save)
        service.every("forget-request-records", FORGET_INTERVAL, self.record_requests.forget_old)
        service.on_stop(self.record_requests.save)


def build(
    service: Service, group: ApiGroup, *, declared: DeclaredMembers, new_id: Callable[[], UUID]
) -> RequestLog:
    return RequestLog(
        RecordRequests(
            PostgresRequestRecords(service.engine),
            declared=declared,
            retention=group.request_log_retention,
            retained_per_app=group.request_log_per_app,
            clock=service.clock,
            new_id=new_id,
        )
    )
