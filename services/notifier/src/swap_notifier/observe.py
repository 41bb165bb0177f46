"""What happened, one function per fact: the only place that logs and counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final
from uuid import UUID

import orjson
import structlog

from swap_contracts.topics import SWAP_CHANGED
from swap_notifier.domain.endpoints import SecretStorage
from swap_notifier.domain.outcomes import Answer, ClaimedMessage, DisabledReason
from swap_notifier.domain.queue import QueueState
from swap_runtime.telemetry import tracing
from swap_runtime.telemetry.metrics import begin_at_zero, counter, gauge, histogram

CONSUMER: Final = "notifier"  # its name in the inbox
log = structlog.get_logger()

CREATED = counter("notifier_messages_created", "Webhook messages created")
# Alert: most fail.
ATTEMPTS = counter("notifier_attempts", "Delivery attempts, by outcome", ["outcome"])
begin_at_zero(ATTEMPTS, ("delivered", "failed", "abandoned"))
TOOK = histogram("notifier_attempt_seconds", "Response times of receivers")
UNDER_WAY = gauge("notifier_deliveries_under_way", "Deliveries in flight")
DISABLED = counter("notifier_endpoints_disabled", "Endpoints disabled, by reason", ["reason"])
begin_at_zero(DISABLED, DisabledReason)

# Alert: late. Deliveries are not begun although they are due.
OVERDUE = gauge("notifier_overdue_oldest_seconds", "How late the first due delivery is")
FAILING = gauge("notifier_endpoints_failing", "Enabled endpoints whose last attempts all failed")
# Alert: old. A receiver refuses what it is sent; after days its endpoint is disabled.
FAILING_SECONDS = gauge(
    "notifier_endpoints_failing_oldest_seconds", "Since when the first of them fails"
)

SECRETS = gauge("notifier_secrets", "Endpoints' secrets, by how they are stored", ["kept"])
# Alert: any.
UNREADABLE = counter(
    "notifier_secrets_unreadable", "Times a message waited because no key decrypts its secret"
)

# Alert: beyond half a minute. Receivers refuse signatures that are five minutes old.
SKEW = gauge("notifier_clock_skew_seconds", "How far the local clock is ahead of the database's")


def clock_compared(skew: timedelta, *, is_too_much: bool) -> None:
    SKEW.set(skew.total_seconds())
    if is_too_much:
        log.error(
            "clock is wrong, receivers may refuse signatures", skew_seconds=skew.total_seconds()
        )


def queue_measured(state: QueueState) -> None:
    OVERDUE.set(state.overdue.total_seconds())
    FAILING.set(state.failing_endpoints)
    FAILING_SECONDS.set(state.failing_for.total_seconds())


def messages_created(number: int) -> None:
    CREATED.inc(number)


def begin_attempt(claimed: ClaimedMessage) -> Callable[[Answer], None]:
    """Begin the span of an attempt; return what ends it.

    Its parent is what this service did about the message that announced the change.
    """
    swap_id = claimed.swap_id
    if not tracing.is_on() or swap_id is None:
        return lambda _: None
    sequence = orjson.loads(claimed.body)["swap"]["metadata"]["sequence"]
    cause = SWAP_CHANGED.message_id(str(swap_id), sequence)
    parent, began = tracing.processing_span_id(cause, CONSUMER), tracing.now()

    def end(answer: Answer) -> None:
        names: dict[str, str | int] = {"webhook.id": claimed.message_id}
        if answer.http_status is not None:
            names["http.response.status_code"] = answer.http_status
        tracing.record_child(
            "deliver webhook",
            swap_id,
            parent,
            kind=tracing.Kind.CLIENT,
            began=began,
            attributes=names,
            error=None if answer.is_success else answer.error or "refused",
        )

    return end


def message_delivered(claimed: ClaimedMessage, milliseconds: int) -> None:
    log.info("webhook delivered", milliseconds=milliseconds, **_names(claimed))
    ATTEMPTS.labels("delivered").inc()
    TOOK.observe(milliseconds / 1000, tracing.exemplar(claimed.swap_id))


def attempt_failed(claimed: ClaimedMessage, attempt: int, answer: Answer) -> None:
    log.info(
        "webhook attempt failed",
        attempt=attempt,
        http_status=answer.http_status,
        error=answer.error,
        **_names(claimed),
    )
    ATTEMPTS.labels("failed").inc()


def attempt_broke(claimed: ClaimedMessage, error: Exception) -> None:
    log.error("webhook attempt raised", exc_info=error, **_names(claimed))


def message_abandoned(claimed: ClaimedMessage) -> None:
    log.warning("webhook message abandoned", **_names(claimed))
    ATTEMPTS.labels("abandoned").inc()


def _names(claimed: ClaimedMessage) -> dict[str, object]:
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


def message_replayed(message_id: str) -> None:
    log.info("webhook message replayed", webhook_message_id=message_id)


def replayed_since(endpoint_id: UUID, number: int) -> None:
    log.info("webhook messages replayed", endpoint_id=endpoint_id, number=number)


def test_sent(message_id: str, endpoint_id: UUID) -> None:
    log.info("test webhook requested", webhook_message_id=message_id, endpoint_id=endpoint_id)


def messages_discarded(number: int) -> None:
    log.info("webhook messages of disabled endpoints discarded", number=number)


def messages_deleted(number: int) -> None:
    log.info("webhook messages deleted", number=number)


def secret_unreadable(endpoint_id: UUID, reason: str) -> None:
    log.error("webhook secret unreadable", endpoint_id=endpoint_id, reason=reason)
    UNREADABLE.inc()


def secrets_sealed_anew(number: int) -> None:
    log.info("webhook secrets sealed with the first key", endpoints=number)


def secrets_counted(count: Mapping[SecretStorage, int]) -> None:
    for storage, number in count.items():
        SECRETS.labels(storage.value).set(number)
