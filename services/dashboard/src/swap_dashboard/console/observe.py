"""What happened, one function per fact: the only place that logs and counts. No token is logged."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

import structlog

from swap_runtime.telemetry.metrics import begin_at_zero, counter

log = structlog.get_logger()

SIGN_INS = counter("console_sign_ins", "Attempts of operators to sign in, by outcome", ["outcome"])
ORDERS = counter("console_orders", "Orders that operators confirmed, by outcome", ["outcome"])
SERVICE_UNAVAILABLE = counter(
    "console_service_away", "Requests that a service did not answer", ["name"]
)
begin_at_zero(SIGN_INS, ("done", "failed", "blocked"))


def services_listed(services: Collection[str]) -> None:
    """Begin to count the failed requests to services that may have none for long."""
    begin_at_zero(SERVICE_UNAVAILABLE, services)


def signed_in(name: str, address: str) -> None:
    log.info("operator signed in", operator=name, address=address)
    SIGN_INS.labels("done").inc()


def sign_in_failed(address: str) -> None:
    log.warning("operator's sign-in failed", address=address)
    SIGN_INS.labels("failed").inc()


def sign_in_blocked(address: str) -> None:
    log.warning("operator's sign-in blocked", address=address)
    SIGN_INS.labels("blocked").inc()


def sessions_ended(name: str, number: int) -> None:
    log.info("operator's sessions ended", operator=name, number=number)


def order_ended(name: str, service: str, path: str, *, outcome: str, order_id: UUID) -> None:
    log.info(
        "order ended", operator=name, service=service, path=path, outcome=outcome, order_id=order_id
    )
    ORDERS.labels(outcome).inc()


def service_unavailable(service: str, path: str, error: Exception) -> None:
    log.warning("a service does not answer", service=service, path=path, error=type(error).__name__)
    SERVICE_UNAVAILABLE.labels(service).inc()
