"""What happened, one function per fact: the only place that logs and counts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

import structlog

from swap_notifier.domain.endpoints import Kept
from swap_notifier.domain.outcomes import Answer, Claimed
from swap_runtime.telemetry.metrics import counter, gauge, histogram

log = structlog.get_logger()

CREATED = counter("notifier_messages_created", "Webhook messages created")
ATTEMPTS = counter("notifier_attempts", "Delivery attempts, by outcome", ["outcome"])
TOOK = histogram("notifier_attempt_seconds", "How long receivers take to answer")
UNDER_WAY = gauge("notifier_deliveries_under_way", "Deliveries that wait for their answer")
DISABLED = counter("notifier_endpoints_disabled", "Endpoints disabled, by reason", ["reason"])

SECRETS = gauge("notifier_secrets", "Endpoints' secrets, by how they are stored", ["kept"])
UNREADABLE = counter(
    "notifier_secrets_unreadable", "Times that a message waited because nothing opens its secret"
)

SKEW = gauge("notifier_clock_skew_seconds", "By how much our clock is ahead of the database's")


def clock_compared(skew: timedelta, *, is_too_much: bool) -> None:
    SKEW.set(skew.total_seconds())
    if is_too_much:
        log.error(
            "clock is wrong, receivers may refuse what we sign", skew_seconds=skew.total_seconds()
        )


def messages_created(number: int) -> None:
    CREATED.inc(number)


def delivered(claimed: Claimed, milliseconds: int) -> None:
    log.info("webhook delivered", milliseconds=milliseconds, **_names(claimed))
    ATTEMPTS.labels("delivered").inc()
    TOOK.observe(milliseconds / 1000)


def attempt_failed(claimed: Claimed, attempt: int, answer: Answer) -> None:
    log.info(
        "attempt failed",
        attempt=attempt,
        http_status=answer.http_status,
        error=answer.error,
        **_names(claimed),
    )
    ATTEMPTS.labels("failed").inc()


def attempt_broke(claimed: Claimed, error: Exception) -> None:
    log.error("attempt broke", exc_info=error, **_names(claimed))


def gave_up(claimed: Claimed) -> None:
    log.warning("webhook message given up", **_names(claimed))
    ATTEMPTS.labels("gave_up").inc()


def _names(claimed: Claimed) -> dict[str, object]:
    return {
        "swap_id": claimed.swap_id,
        "webhook_message_id": claimed.message_id,
        "endpoint_id": claimed.endpoint_id,
        "event_type": claimed.event_type,
    }


def under_way(number: int) -> None:
    UNDER_WAY.set(number)


def endpoint_disabled(endpoint_id: UUID, reason: str) -> None:
    log.warning("endpoint disabled", endpoint_id=endpoint_id, reason=reason)
    DISABLED.labels(reason).inc()


def endpoint_changed(endpoint_id: UUID, what: str) -> None:
    log.info("endpoint changed", endpoint_id=endpoint_id, what=what)


def replayed(message_id: str) -> None:
    log.info("webhook message replayed", webhook_message_id=message_id)


def replayed_since(endpoint_id: UUID, number: int) -> None:
    log.info("webhook messages replayed", endpoint_id=endpoint_id, number=number)


def test_sent(message_id: str, endpoint_id: UUID) -> None:
    log.info("test webhook asked for", webhook_message_id=message_id, endpoint_id=endpoint_id)


def discarded(number: int) -> None:
    log.info("webhook messages of disabled endpoints discarded", number=number)


def forgotten(number: int) -> None:
    log.info("webhook messages forgotten", number=number)


def secret_unreadable(endpoint_id: UUID, reason: str) -> None:
    log.error("webhook secret cannot be read", endpoint_id=endpoint_id, reason=reason)
    UNREADABLE.inc()


def secrets_sealed_anew(number: int) -> None:
    log.info("webhook secrets sealed with the first key", endpoints=number)


def secrets_counted(count: Mapping[Kept, int]) -> None:
    for kept, number in count.items():
        SECRETS.labels(kept.value).set(number)
