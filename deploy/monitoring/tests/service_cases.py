"""Times at which alerts about messages, webhooks, the api and processes fire and end."""

from __future__ import annotations

from typing import Final

from swap_monitoring.service_alerts import SERVICES

from deploy.monitoring.tests.case import NOTIFIER, SETTLER, Case, event, gauge, growth

MESSAGES: Final = (
    gauge(
        "MessagesParked",
        "parked_messages",
        "2",
        after=1,
        service="settler",
        summary="2 messages of settler are parked: their swaps do not progress.",
    ),
    event(
        "MessagesUnverified",
        "messages_unverified",
        service="settler",
        topic="deposits",
        summary="settler received a message from Kafka that the sender's outbox does not hold.",
    ),
    gauge(
        "OutboxOld",
        "outbox_oldest_seconds",
        "90",
        after=5,
        service="settler",
        summary="A message of settler has been unpublished for 1m 30s.",
    ),
    Case(
        "OutboxMessageTooLarge",
        {'swap_outbox_too_large_total{service="api"}': "0x9 1x90"},
        10,
        40,
        "A message of api is too large for Kafka.",
        {"service": "api"},
    ),
    gauge(
        "OutboxWithoutPartition",
        "outbox_default_rows",
        "4",
        after=10,
        service="settler",
        summary="Outbox rows of settler have no partition of their day.",
    ),
    gauge(
        "ConsumerLag",
        "consumer_lag_messages",
        "1001",
        after=5,
        service="settler",
        topic="deposits",
        summary="settler is 1001 messages behind in deposits.",
    ),
    gauge(
        "ConsumerLagStays",
        "consumer_lag_messages",
        "50",
        after=15,
        service="settler",
        topic="deposits",
        summary="settler is at least 50 messages behind in deposits and does not catch up.",
    ),
    gauge(
        "ConsumerSilent",
        "consumer_silence_seconds",
        "75",
        after=2,
        service="settler",
        topic="deposits",
        summary="Kafka has not responded to settler in deposits for 1m 15s.",
    ),
)

WEBHOOKS: Final = (
    Case(
        "WebhooksLate",
        {"swap_notifier_overdue_oldest_seconds": "0x9 330x29 0x60"},
        12,
        40,
        "A webhook has been due for 5m 30s and was not sent.",
    ),
    Case(
        "WebhooksFail",
        {
            'swap_notifier_attempts_total{outcome="failed"}': "0+0x9 0+30x60 1800x60",
            'swap_notifier_attempts_total{outcome="delivered"}': "0+10x180",
        },
        31,
        120,
        "75% of the attempts to deliver webhooks fail.",
    ),
    Case(
        "WebhookEndpointFails",
        {"swap_notifier_endpoints_failing_oldest_seconds": "0x9 90000x29 0x60"},
        25,
        40,
        "An endpoint has failed for 1d 1h 0m 0s, and will be disabled.",
    ),
    Case(
        "WebhookSecretUnreadable",
        {'swap_notifier_secrets_unreadable_total{service="notifier"}': "0x9 1x90"},
        10,
        40,
        "No key decrypts the secret of an endpoint: its webhooks wait.",
        NOTIFIER,
    ),
    gauge(
        "ClockSkew",
        "notifier_clock_skew_seconds",
        "-40",
        after=5,
        service="notifier",
        summary="A notifier's clock differs from the database's by 40 seconds.",
    ),
)

API: Final = (
    Case(
        "ApiServerErrors",
        {
            'swap_api_answers_total{route="/a",status="200"}': "0+98x180",
            'swap_api_answers_total{route="/a",status="503"}': "0x9 0+2x60 120x60",
        },
        18,
        90,
        "2% of the api's responses are server errors.",
    ),
    Case(
        "ApiSlow",
        {
            'swap_api_answer_seconds_bucket{route="/a",le="1.0"}': "0+100x9 900+50x60 3900+100x60",
            'swap_api_answer_seconds_bucket{route="/a",le="2.5"}': "0+100x180",
            'swap_api_answer_seconds_bucket{route="/a",le="+Inf"}': "0+100x180",
        },
        20,
        90,
        "One response in a hundred takes longer than 2.47s.",
    ),
    growth(
        "RateLimitsLocal",
        "api_counters_away",
        after=10,
        service="api",
        summary="Redis does not respond: each process limits rates by itself.",
    ),
)

PROCESSES: Final = (
    Case(
        "ServiceMissing",
        {
            f'process_start_time_seconds{{service="{name}",instance="1"}}': (
                "5x9 _x29 9x60" if name == "settler" else "5x120"
            )
            for name in SERVICES
        },
        20,
        40,
        "No process of settler is scraped.",
        SETTLER,
    ),
    Case(
        "ServiceRestarts",
        {'process_start_time_seconds{service="api",instance="1"}': "5x9 6 7 8 9 10x90"},
        13,
        60,
        "api restarted 4 times in half an hour.",
        {"service": "api"},
    ),
    growth(
        "TaskFails",
        "task_failures",
        after=10,
        service="settler",
        task="relay",
        summary="The task relay of settler fails again and again.",
    ),
    growth(
        "SpansDropped",
        "spans_dropped",
        after=10,
        service="settler",
        reason="not delivered",
        summary="settler loses spans: not delivered.",
    ),
)
