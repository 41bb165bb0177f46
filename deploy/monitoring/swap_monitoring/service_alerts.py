"""Alerts about messages, webhooks, the api and the processes themselves."""

from __future__ import annotations

from typing import Final

from swap_monitoring.rule import Group, counted_recently, critical, keeps_counting, warning

SERVICES: Final = (
    "api", "quoter", "chain-watcher", "settler", "notifier", "dashboard", "console",
)  # fmt: skip
STARTED: Final = "process_start_time_seconds"
MISSING: Final = " or ".join(f'absent({STARTED}{{service="{name}"}})' for name in SERVICES)
LAG: Final = "swap_consumer_lag_messages"
ATTEMPTS: Final = "swap_notifier_attempts_total"

MESSAGES: Final = Group(
    "swap-messages",
    page="messages",
    rules=(
        critical(
            "MessagesParked",
            "max by (service) (swap_parked_messages) > 0",
            "{{ $value }} messages of {{ $labels.service }} are parked: their swaps do not "
            "progress.",
            after="1m",
        ),
        critical(
            "MessagesUnverified",
            "max by (service) (swap_unverified_messages) > 0 or "
            + counted_recently("swap_messages_unverified_total", by="service"),
            "{{ $labels.service }} received a message from Kafka that the sender's outbox does not "
            "hold.",
        ),
        warning(
            "OutboxOld",
            "max by (service) (swap_outbox_oldest_seconds) > 60",
            "A message of {{ $labels.service }} has been unpublished for "
            "{{ $value | humanizeDuration }}.",
            after="5m",
        ),
        warning(
            "OutboxMessageTooLarge",
            counted_recently("swap_outbox_too_large_total", by="service"),
            "A message of {{ $labels.service }} is too large for Kafka.",
        ),
        warning(
            "OutboxWithoutPartition",
            "max by (service) (swap_outbox_default_rows) > 0",
            "Outbox rows of {{ $labels.service }} have no partition of their day.",
            after="10m",
        ),
        warning(
            "ConsumerLag",
            f"sum by (service, topic) ({LAG}) > 1000",
            "{{ $labels.service }} is {{ $value }} messages behind in {{ $labels.topic }}.",
            after="5m",
        ),
        warning(
            "ConsumerLagStays",
            f"sum by (service, topic) (min_over_time({LAG}[10m])) > 0"
            f" and sum by (service, topic) ({LAG}) >= sum by (service, topic) ({LAG} offset 10m)",
            "{{ $labels.service }} is at least {{ $value }} messages behind in "
            "{{ $labels.topic }} and does not catch up.",
            after="5m",
        ),
        warning(
            "ConsumerSilent",
            "max by (service, topic) (swap_consumer_silence_seconds) > 60",
            "Kafka has not responded to {{ $labels.service }} in {{ $labels.topic }} for "
            "{{ $value | humanizeDuration }}.",
            after="2m",
        ),
    ),
)

WEBHOOKS: Final = Group(
    "swap-webhooks",
    page="webhooks",
    rules=(
        critical(
            "WebhooksLate",
            "max(swap_notifier_overdue_oldest_seconds) > 300",
            "A webhook has been due for {{ $value | humanizeDuration }} and was not sent.",
            after="2m",
        ),
        warning(
            "WebhooksFail",
            f'sum(rate({ATTEMPTS}{{outcome="failed"}}[15m])) / sum(rate({ATTEMPTS}[15m])) > 0.5',
            "{{ $value | humanizePercentage }} of the attempts to deliver webhooks fail.",
            after="15m",
        ),
        warning(
            "WebhookEndpointFails",
            "max(swap_notifier_endpoints_failing_oldest_seconds) > 86400",
            "An endpoint has failed for {{ $value | humanizeDuration }}, and will be disabled.",
            after="15m",
        ),
        critical(
            "WebhookSecretUnreadable",
            counted_recently("swap_notifier_secrets_unreadable_total", by="service"),
            "No key decrypts the secret of an endpoint: its webhooks wait.",
        ),
        warning(
            "ClockSkew",
            "max by (service) (abs(swap_notifier_clock_skew_seconds)) > 30",
            "A notifier's clock differs from the database's by {{ $value }} seconds.",
            after="5m",
        ),
    ),
)

API: Final = Group(
    "swap-api",
    page="api",
    rules=(
        warning(
            "ApiServerErrors",
            'sum(rate(swap_api_answers_total{status=~"5.."}[5m]))'
            " / sum(rate(swap_api_answers_total[5m])) > 0.01",
            "{{ $value | humanizePercentage }} of the api's responses are server errors.",
            after="5m",
        ),
        warning(
            "ApiSlow",
            "histogram_quantile(0.99, sum by (le) (rate(swap_api_answer_seconds_bucket[5m]))) > 1",
            "One response in a hundred takes longer than {{ $value | humanizeDuration }}.",
            after="10m",
        ),
        warning(
            "RateLimitsLocal",
            keeps_counting("swap_api_counters_away_total", by="service"),
            "Redis does not respond: each process limits rates by itself.",
            after="10m",
        ),
    ),
)

PROCESSES: Final = Group(
    "swap-processes",
    page="processes",
    rules=(
        critical(
            "ServiceMissing",
            MISSING,
            "No process of {{ $labels.service }} is scraped.",
            after="5m",
        ),
        warning(
            "ServiceRestarts",
            f"sum by (service) (changes({STARTED}[30m])) > 3",
            "{{ $labels.service }} restarted {{ $value }} times in half an hour.",
        ),
        warning(
            "TaskFails",
            keeps_counting("swap_task_failures_total", by="service, task"),
            "The task {{ $labels.task }} of {{ $labels.service }} fails again and again.",
            after="10m",
        ),
        warning(
            "SpansDropped",
            keeps_counting("swap_spans_dropped_total", by="service, reason"),
            "{{ $labels.service }} loses spans: {{ $labels.reason }}.",
            after="10m",
        ),
    ),
)
