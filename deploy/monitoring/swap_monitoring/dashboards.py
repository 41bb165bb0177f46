"""The dashboards: overview, money, chains, partners, and the way of one swap."""

from __future__ import annotations

from typing import Final

from swap_monitoring.objectives import OBJECTIVES
from swap_monitoring.panel import Dashboard, Row, lines, number

RATE: Final = "$__rate_interval"
COMPLETION: Final = "swap_settler_swap_completion_seconds"
PAGE_STATUS: Final = "{{service}} {{status}}"
ASSET: Final = "{{network}} {{token}}"


def quantile(share: float, metric: str, *labels: str) -> str:
    by = ", ".join(("le", *labels))
    return f"histogram_quantile({share}, sum by ({by}) (rate({metric}_bucket[{RATE}])))"


def per_second(counter: str, *labels: str) -> str:
    return f"sum by ({', '.join(labels)}) (rate({counter}[{RATE}]))"


def _answers_row(title: str, titles: tuple[str, str], *, counter: str, seconds: str) -> Row:
    """Return the rate, the errors and the time of answers that have a route.

    :param titles: of the rates of all answers and of errors.
    """
    per_route = "{{service}} {{route}}"
    errors = f'sum by (service, route) (rate({counter}{{status="5xx"}}[{RATE}]))'
    return Row(
        title,
        (
            lines(titles[0], (per_second(counter, "service", "status"), PAGE_STATUS), unit="reqps"),
            lines(titles[1], (errors, per_route), unit="reqps"),
            lines(
                "Response time, 99 of 100",
                (quantile(0.99, seconds, "service", "route"), per_route),
                unit="s",
            ),
        ),
    )


OVERVIEW: Final = Dashboard(
    "swap-overview",
    "Swaps: overview",
    "Is it well? Objectives, alarms, requests, messages and processes.",
    (
        Row(
            "Now",
            (
                number("Stuck swaps", "sum(max by (status) (swap_settler_stuck_swaps))"),
                number("Parked messages", "sum(max by (service) (swap_parked_messages))"),
                number("Halted networks", "sum(max by (network) (swap_watch_halted))"),
                number("Halted signers", "sum(max by (network) (swap_settler_signer_halted))"),
                number("Stopped networks", "sum(max by (network) (swap_settler_stopped))"),
                number("In recovery", "max(swap_settler_in_recovery)"),
                number(
                    "Oldest overdue webhook", "max(swap_notifier_overdue_oldest_seconds)", unit="s"
                ),
                number("Prices", "max(swap_quoter_prices)"),
            ),
        ),
        Row(
            "Objectives: share of bad events",
            tuple(
                lines(
                    one.name,
                    *((one.recorded(window), window) for window in ("5m", "1h", "1d")),
                    unit="percentunit",
                    about=f"The budget is {one.budget:.1%} over 30 days.",
                )
                for one in OBJECTIVES
            ),
        ),
        Row(
            "Requests",
            (
                lines(
                    "Responses per second",
                    (per_second("swap_api_answers_total", "status"), "{{status}}"),
                    unit="reqps",
                ),
                lines(
                    "Server errors per second",
                    (
                        f'sum by (route) (rate(swap_api_answers_total{{status=~"5.."}}[{RATE}]))',
                        "{{route}}",
                    ),
                    unit="reqps",
                ),
                lines(
                    "Response time, 99 of 100",
                    (quantile(0.99, "swap_api_answer_seconds", "route"), "{{route}}"),
                    unit="s",
                ),
                lines(
                    "Quoter: response time, 99 of 100",
                    (quantile(0.99, "swap_quoter_answer_seconds", "kind"), "{{kind}}"),
                    unit="s",
                ),
            ),
        ),
        _answers_row(
            "Requests of operators, on the internal ports",
            ("Responses per second", "Server errors per second"),
            counter="swap_internal_answers_total",
            seconds="swap_internal_answer_seconds",
        ),
        _answers_row(
            "Pages of the dashboard and the console",
            ("Pages per second", "Errors per second"),
            counter="swap_dashboard_pages_total",
            seconds="swap_dashboard_page_seconds",
        ),
        Row(
            "Messages",
            (
                lines(
                    "Handled per second",
                    (
                        per_second("swap_messages_handled_total", "service", "topic"),
                        "{{service}} {{topic}}",
                    ),
                ),
                lines(
                    "Handling time of a batch, 99 of 100",
                    (
                        quantile(0.99, "swap_messages_handling_seconds", "service", "topic"),
                        "{{service}} {{topic}}",
                    ),
                    unit="s",
                ),
                lines(
                    "Behind",
                    (
                        "sum by (service, topic) (swap_consumer_lag_messages)",
                        "{{service}} {{topic}}",
                    ),
                ),
                lines(
                    "Oldest unpublished",
                    ("max by (service) (swap_outbox_oldest_seconds)", "{{service}}"),
                    unit="s",
                ),
            ),
        ),
        Row(
            "Processes",
            (
                lines(
                    "Processes by version",
                    (
                        "count by (service, version, revision) (swap_build_info)",
                        "{{service}} {{version}} {{revision}}",
                    ),
                    about="Two versions of one service: a rollout is under way, or stands still.",
                ),
                lines(
                    "Processor",
                    (per_second("process_cpu_seconds_total", "service"), "{{service}}"),
                ),
                lines(
                    "Memory",
                    (
                        "max by (service) (process_resident_memory_bytes)",
                        "{{service}}",
                    ),
                    unit="bytes",
                ),
                lines(
                    "Failing tasks per second",
                    (
                        per_second("swap_task_failures_total", "service", "task"),
                        "{{service}} {{task}}",
                    ),
                ),
            ),
        ),
    ),
)

MONEY: Final = Dashboard(
    "swap-money",
    "Swaps: money",
    "What is held, owed, waiting and lost.",
    (
        Row(
            "Cover",
            (
                lines(
                    "Held",
                    ("max by (network, token) (swap_settler_held_base_units)", ASSET),
                    about="In the Treasury, by the ledger, in base units.",
                ),
                lines("Owed", ("max by (network, token) (swap_settler_owed_base_units)", ASSET)),
                lines(
                    "On chain",
                    ("max by (network, token) (swap_settler_treasury_base_units)", ASSET),
                    about="At the last final block.",
                ),
            ),
        ),
        Row(
            "Invariants",
            (
                lines(
                    "Rows that break an invariant",
                    ("max by (invariant) (swap_settler_invariant_broken_rows)", "{{invariant}}"),
                    about="50 at most of each; one settler checks them every 15 minutes.",
                ),
                lines(
                    "Invariants whose query failed",
                    ("sum(swap_settler_invariant_unchecked)", "unchecked"),
                ),
                lines(
                    "Age of the last check",
                    (
                        "time() - max(swap_settler_invariants_checked_timestamp_seconds > 0)",
                        "age",
                    ),
                    unit="s",
                ),
            ),
        ),
        Row(
            "Waiting",
            (
                lines(
                    "Open swaps",
                    ("max by (status) (swap_settler_open_swaps)", "{{status}}"),
                ),
                lines(
                    "Oldest open swap",
                    ("max by (status) (swap_settler_open_swaps_oldest_seconds)", "{{status}}"),
                    unit="s",
                ),
                lines(
                    "Oldest unsettled deposit",
                    (
                        "max by (network) (swap_settler_unsettled_deposits_oldest_seconds)",
                        "{{network}}",
                    ),
                    unit="s",
                ),
                lines(
                    "Refunds that are not final",
                    ("max by (network) (swap_settler_refunds_pending)", "{{network}}"),
                ),
                lines(
                    "Oldest payment before a cap",
                    (
                        "max by (network) (swap_settler_payments_waiting_oldest_seconds)",
                        "{{network}}",
                    ),
                    unit="s",
                ),
            ),
        ),
        Row(
            "Payments",
            (
                lines(
                    "Payments that signers have gas for",
                    (
                        "min by (network, signer) (swap_settler_signer_payments_left)",
                        "{{network}} {{signer}}",
                    ),
                ),
                lines(
                    "Oldest nonce that no block has",
                    ("max by (network) (swap_settler_oldest_unmined_seconds)", "{{network}}"),
                    unit="s",
                ),
                lines(
                    "Replacements per second",
                    (
                        per_second("swap_settler_replacements_total", "network", "act"),
                        "{{network}} {{act}}",
                    ),
                ),
            ),
        ),
        Row(
            "Ends",
            (
                lines(
                    "Swaps by status, per second",
                    (per_second("swap_settler_swaps_total", "status"), "{{status}}"),
                ),
                lines(
                    "Without output, per second",
                    (
                        per_second("swap_settler_swaps_unsuccessful_total", "reason"),
                        "{{reason}}",
                    ),
                ),
                lines(
                    "Lost to reorgs, in dollars",
                    ("max by (network) (swap_settler_lost_usd_micros) / 1e6", "{{network}}"),
                    unit="currencyUSD",
                ),
            ),
        ),
    ),
)

CHAINS: Final = Dashboard(
    "swap-chains",
    "Swaps: chains",
    "How each network is read, and what its providers report.",
    (
        Row(
            "Reading",
            (
                lines(
                    "Blocks behind the head",
                    ("max by (network) (swap_watch_head_lag_blocks)", "{{network}}"),
                ),
                lines(
                    "Head",
                    ("max by (network) (swap_watch_head_block)", "{{network}}"),
                ),
                lines(
                    "Blocks until the last final one",
                    (
                        "max by (network) (swap_watch_head_block)"
                        " - max by (network) (swap_watch_finalized_block)",
                        "{{network}}",
                    ),
                ),
            ),
        ),
        Row(
            "Providers",
            (
                lines("Providers", ("min by (network) (swap_watch_providers)", "{{network}}")),
                lines(
                    "Failed requests per second",
                    (per_second("swap_watch_node_failures_total", "network"), "{{network}}"),
                ),
                lines(
                    "Contradictions",
                    (
                        "sum by (network) (increase(swap_watch_contradictions_total[1h]))",
                        "{{network}}",
                    ),
                    about="Within an hour.",
                ),
                lines(
                    "Reported by one provider",
                    ("max by (network) (swap_watch_deposits_unverified)", "{{network}}"),
                ),
                lines(
                    "Withheld",
                    ("max by (network) (swap_watch_deposits_withheld)", "{{network}}"),
                ),
                lines(
                    "Cap of one provider, used",
                    (
                        "max by (network, token) (swap_watch_one_provider_used_base_units)"
                        " / (max by (network, token) (swap_watch_one_provider_cap_base_units)"
                        " > 0)",
                        ASSET,
                    ),
                    unit="percentunit",
                ),
            ),
        ),
        Row(
            "Blocks",
            (
                lines(
                    "Reverted blocks",
                    (
                        "sum by (network) (increase(swap_watch_reorg_depth_blocks_sum[1h]))",
                        "{{network}}",
                    ),
                    about="Within an hour.",
                ),
                lines(
                    "Deepest reorg, in blocks",
                    (
                        "histogram_quantile(1, sum by (network, le)"
                        " (increase(swap_watch_reorg_depth_blocks_bucket[1h])))",
                        "{{network}}",
                    ),
                    about="Within an hour, rounded up to a bucket. Compare it with the"
                    " confirmations of the network.",
                ),
                lines(
                    "Young deposit addresses",
                    (
                        "max by (network) (swap_watch_young_addresses)"
                        " / (max by (network) (swap_watch_young_addresses_max) > 0)",
                        "{{network}}",
                    ),
                    unit="percentunit",
                ),
                lines(
                    "Price of gas",
                    ("max by (network) (swap_quoter_max_fee_per_gas_wei)", "{{network}}"),
                    about="In wei.",
                ),
            ),
        ),
    ),
)

PARTNERS: Final = Dashboard(
    "swap-partners",
    "Swaps: partners",
    "What partners see: swaps, refusals and webhooks.",
    (
        Row(
            "Swaps",
            (
                lines(
                    "Created per second",
                    (
                        per_second("swap_api_swaps_created_total", "source", "destination"),
                        "{{source}} to {{destination}}",
                    ),
                ),
                lines(
                    "Refusals per second",
                    (per_second("swap_api_refusals_total", "code"), "{{code}}"),
                ),
                lines(
                    "Quotes per second",
                    (
                        per_second("swap_quoter_answers_total", "kind", "outcome"),
                        "{{kind}} {{outcome}}",
                    ),
                ),
            ),
        ),
        Row(
            "Webhooks",
            (
                lines(
                    "Attempts per second",
                    (per_second("swap_notifier_attempts_total", "outcome"), "{{outcome}}"),
                ),
                lines(
                    "Response time of receivers",
                    (quantile(0.5, "swap_notifier_attempt_seconds"), "half"),
                    (quantile(0.99, "swap_notifier_attempt_seconds"), "99 of 100"),
                    unit="s",
                ),
                lines(
                    "Late",
                    ("max(swap_notifier_overdue_oldest_seconds)", "first due delivery"),
                    unit="s",
                ),
                lines("Failing endpoints", ("max(swap_notifier_endpoints_failing)", "endpoints")),
                lines(
                    "Failing since",
                    ("max(swap_notifier_endpoints_failing_oldest_seconds)", "first of them"),
                    unit="s",
                ),
                lines("In flight", ("sum(swap_notifier_deliveries_under_way)", "deliveries")),
            ),
        ),
    ),
)

ONE_SWAP: Final = Dashboard(
    "swap-one-swap",
    "Swaps: the way of one swap",
    "How long each step takes, in order. For a single swap: swapctl trail SWAP_ID.",
    (
        Row(
            "1. Creation and deposit",
            (
                lines(
                    "Api: response time, all routes",
                    (quantile(0.5, "swap_api_answer_seconds"), "half"),
                    (quantile(0.99, "swap_api_answer_seconds"), "99 of 100"),
                    unit="s",
                ),
                lines(
                    "Detection, from the block's time",
                    (
                        quantile(0.95, "swap_watch_detection_delay_seconds", "network"),
                        "{{network}}",
                    ),
                    unit="s",
                ),
                lines(
                    "Deposits by state, per second",
                    (per_second("swap_settler_deposits_total", "state"), "{{state}}"),
                ),
            ),
        ),
        Row(
            "2. Payout",
            (
                lines(
                    "Oldest payment that is not final",
                    ("max by (network) (swap_settler_oldest_unpaid_seconds)", "{{network}}"),
                    unit="s",
                ),
                lines(
                    "Payments by outcome, per second",
                    (
                        per_second("swap_settler_payments_total", "network", "outcome"),
                        "{{network}} {{outcome}}",
                    ),
                ),
                lines(
                    "Lanes that wait, per second",
                    (per_second("swap_settler_lane_waits_total", "network"), "{{network}}"),
                ),
            ),
        ),
        Row(
            "3. Completion and webhook",
            (
                lines(
                    "From deposit to completion, half",
                    (
                        quantile(0.5, COMPLETION, "source", "destination"),
                        "{{source}} to {{destination}}",
                    ),
                    unit="s",
                ),
                lines(
                    "From deposit to completion, 95 of 100",
                    (
                        quantile(0.95, COMPLETION, "source", "destination"),
                        "{{source}} to {{destination}}",
                    ),
                    unit="s",
                ),
                lines(
                    "Webhooks created per second",
                    ("sum(rate(swap_notifier_messages_created_total[$__rate_interval]))", "all"),
                ),
            ),
        ),
    ),
)

DASHBOARDS: Final = (OVERVIEW, MONEY, CHAINS, PARTNERS, ONE_SWAP)
