"""The dashboards: overview, money, chains, partners, and the way of one swap."""

from __future__ import annotations

from typing import Final

from swap_monitoring.objectives import OBJECTIVES
from swap_monitoring.panel import Dashboard, Row, lines, number, row

RATE: Final = "$__rate_interval"
COMPLETION: Final = "swap_settler_swap_completion_seconds"
ASSET: Final = "{{network}} {{token}}"
ROUTE: Final = "{{source}} to {{destination}}"


def by(aggregate: str, metric: str, *labels: str) -> tuple[str, str]:
    """Return the query of a metric by some labels, and the legend that names them."""
    return f"{aggregate} by ({', '.join(labels)}) ({metric})", _legend(labels)


def quantile(share: float, metric: str, *labels: str, legend: str = "") -> tuple[str, str]:
    labels_of_buckets = ", ".join(("le", *labels))
    rates = f"sum by ({labels_of_buckets}) (rate({metric}_bucket[{RATE}]))"
    return f"histogram_quantile({share}, {rates})", legend or _legend(labels)


def per_second(counter: str, *labels: str, legend: str = "") -> tuple[str, str]:
    query, names = by("sum", f"rate({counter}[{RATE}])", *labels)
    return query, legend or names


def _legend(labels: tuple[str, ...]) -> str:
    return " ".join(f"{{{{{label}}}}}" for label in labels)


def _answers_row(title: str, titles: tuple[str, str], *, counter: str, seconds: str) -> Row:
    """Return the rate, the errors and the time of answers that have a route.

    :param titles: of the rates of all answers and of errors.
    """
    route = ("service", "route")
    return row(
        title,
        lines(titles[0], per_second(counter, "service", "status"), unit="reqps"),
        lines(titles[1], per_second(f'{counter}{{status="5xx"}}', *route), unit="reqps"),
        lines("Response time, 99 of 100", quantile(0.99, seconds, *route), unit="s"),
    )


OVERVIEW: Final = Dashboard(
    "swap-overview",
    "Swaps: overview",
    "Is it well? Objectives, alarms, requests, messages and processes.",
    (
        row(
            "Now",
            number("Stuck swaps", "sum(max by (status) (swap_settler_stuck_swaps))"),
            number("Parked messages", "sum(max by (service) (swap_parked_messages))"),
            number("Halted networks", "sum(max by (network) (swap_watch_halted))"),
            number("Halted signers", "sum(max by (network) (swap_settler_signer_halted))"),
            number("Stopped networks", "sum(max by (network) (swap_settler_stopped))"),
            number("In recovery", "max(swap_settler_in_recovery)"),
            number("Oldest overdue webhook", "max(swap_notifier_overdue_oldest_seconds)", unit="s"),
            number("Prices", "max(swap_quoter_prices)"),
        ),
        row(
            "Objectives: share of bad events",
            *(
                lines(
                    one.name,
                    *((one.record_name(window), window) for window in ("5m", "1h", "1d")),
                    unit="percentunit",
                    about=f"The budget is {one.budget:.1%} over 30 days.",
                )
                for one in OBJECTIVES
            ),
        ),
        row(
            "Requests",
            lines(
                "Responses per second", per_second("swap_api_answers_total", "status"), unit="reqps"
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
                quantile(0.99, "swap_api_answer_seconds", "route"),
                unit="s",
            ),
            lines(
                "Quoter: response time, 99 of 100",
                quantile(0.99, "swap_quoter_answer_seconds", "kind"),
                unit="s",
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
        row(
            "Messages",
            lines(
                "Handled per second", per_second("swap_messages_handled_total", "service", "topic")
            ),
            lines(
                "Handling time of a batch, 99 of 100",
                quantile(0.99, "swap_messages_handling_seconds", "service", "topic"),
                unit="s",
            ),
            lines("Behind", by("sum", "swap_consumer_lag_messages", "service", "topic")),
            lines(
                "Oldest unpublished", by("max", "swap_outbox_oldest_seconds", "service"), unit="s"
            ),
        ),
        row(
            "Processes",
            lines(
                "Processes by version",
                by("count", "swap_build_info", "service", "version", "revision"),
                about="Two versions of one service: a rollout is under way, or stands still.",
            ),
            lines("Processor", per_second("process_cpu_seconds_total", "service")),
            lines("Memory", by("max", "process_resident_memory_bytes", "service"), unit="bytes"),
            lines(
                "Failing tasks per second",
                per_second("swap_task_failures_total", "service", "task"),
            ),
        ),
    ),
)

MONEY: Final = Dashboard(
    "swap-money",
    "Swaps: money",
    "What is held, owed, waiting and lost.",
    (
        row(
            "Cover",
            lines(
                "Held",
                by("max", "swap_settler_held_base_units", "network", "token"),
                about="In the Treasury, by the ledger, in base units.",
            ),
            lines("Owed", by("max", "swap_settler_owed_base_units", "network", "token")),
            lines(
                "On chain",
                by("max", "swap_settler_treasury_base_units", "network", "token"),
                about="At the last final block.",
            ),
        ),
        row(
            "Invariants",
            lines(
                "Rows that break an invariant",
                by("max", "swap_settler_invariant_broken_rows", "invariant"),
                about="50 at most of each; one settler checks them every 15 minutes.",
            ),
            lines(
                "Invariants whose query failed",
                ("sum(swap_settler_invariant_unchecked)", "unchecked"),
            ),
            lines(
                "Age of the last check",
                ("time() - max(swap_settler_invariants_checked_timestamp_seconds > 0)", "age"),
                unit="s",
            ),
        ),
        row(
            "Waiting",
            lines("Open swaps", by("max", "swap_settler_open_swaps", "status")),
            lines(
                "Oldest open swap",
                by("max", "swap_settler_open_swaps_oldest_seconds", "status"),
                unit="s",
            ),
            lines(
                "Oldest unsettled deposit",
                by("max", "swap_settler_unsettled_deposits_oldest_seconds", "network"),
                unit="s",
            ),
            lines(
                "Refunds that are not final", by("max", "swap_settler_refunds_pending", "network")
            ),
            lines(
                "Oldest payment before a cap",
                by("max", "swap_settler_payments_waiting_oldest_seconds", "network"),
                unit="s",
            ),
        ),
        row(
            "Payments",
            lines(
                "Payments that signers have gas for",
                by("min", "swap_settler_signer_payments_left", "network", "signer"),
            ),
            lines(
                "Oldest nonce that no block has",
                by("max", "swap_settler_oldest_unmined_seconds", "network"),
                unit="s",
            ),
            lines(
                "Replacements per second",
                per_second("swap_settler_replacements_total", "network", "act"),
            ),
        ),
        row(
            "Ends",
            lines("Swaps by status, per second", per_second("swap_settler_swaps_total", "status")),
            lines(
                "Without output, per second",
                per_second("swap_settler_swaps_unsuccessful_total", "reason"),
            ),
            lines(
                "Lost to reorgs, in dollars",
                ("max by (network) (swap_settler_lost_usd_micros) / 1e6", "{{network}}"),
                unit="currencyUSD",
            ),
        ),
    ),
)

CHAINS: Final = Dashboard(
    "swap-chains",
    "Swaps: chains",
    "How each network is read, and what its providers report.",
    (
        row(
            "Reading",
            lines("Blocks behind the head", by("max", "swap_watch_head_lag_blocks", "network")),
            lines("Head", by("max", "swap_watch_head_block", "network")),
            lines(
                "Blocks until the last final one",
                (
                    "max by (network) (swap_watch_head_block)"
                    " - max by (network) (swap_watch_finalized_block)",
                    "{{network}}",
                ),
            ),
        ),
        row(
            "Providers",
            lines("Providers", by("min", "swap_watch_providers", "network")),
            lines(
                "Failed requests per second",
                per_second("swap_watch_node_failures_total", "network"),
            ),
            lines(
                "Contradictions",
                ("sum by (network) (increase(swap_watch_contradictions_total[1h]))", "{{network}}"),
                about="Within an hour.",
            ),
            lines(
                "Reported by one provider", by("max", "swap_watch_deposits_unverified", "network")
            ),
            lines("Withheld", by("max", "swap_watch_deposits_withheld", "network")),
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
        row(
            "Blocks",
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
                by("max", "swap_quoter_max_fee_per_gas_wei", "network"),
                about="In wei.",
            ),
        ),
    ),
)

PARTNERS: Final = Dashboard(
    "swap-partners",
    "Swaps: partners",
    "What partners see: swaps, refusals and webhooks.",
    (
        row(
            "Swaps",
            lines(
                "Created per second",
                per_second("swap_api_swaps_created_total", "source", "destination", legend=ROUTE),
            ),
            lines("Refusals per second", per_second("swap_api_refusals_total", "code")),
            lines("Quotes per second", per_second("swap_quoter_answers_total", "kind", "outcome")),
        ),
        row(
            "Webhooks",
            lines("Attempts per second", per_second("swap_notifier_attempts_total", "outcome")),
            lines(
                "Response time of receivers",
                quantile(0.5, "swap_notifier_attempt_seconds", legend="half"),
                quantile(0.99, "swap_notifier_attempt_seconds", legend="99 of 100"),
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
)

ONE_SWAP: Final = Dashboard(
    "swap-one-swap",
    "Swaps: the way of one swap",
    "How long each step takes, in order. For a single swap: swapctl trail SWAP_ID.",
    (
        row(
            "1. Creation and deposit",
            lines(
                "Api: response time, all routes",
                quantile(0.5, "swap_api_answer_seconds", legend="half"),
                quantile(0.99, "swap_api_answer_seconds", legend="99 of 100"),
                unit="s",
            ),
            lines(
                "Detection, from the block's time",
                quantile(0.95, "swap_watch_detection_delay_seconds", "network"),
                unit="s",
            ),
            lines(
                "Deposits by state, per second", per_second("swap_settler_deposits_total", "state")
            ),
        ),
        row(
            "2. Payout",
            lines(
                "Oldest payment that is not final",
                by("max", "swap_settler_oldest_unpaid_seconds", "network"),
                unit="s",
            ),
            lines(
                "Payments by outcome, per second",
                per_second("swap_settler_payments_total", "network", "outcome"),
            ),
            lines(
                "Lanes that wait, per second",
                per_second("swap_settler_lane_waits_total", "network"),
            ),
        ),
        row(
            "3. Completion and webhook",
            lines(
                "From deposit to completion, half",
                quantile(0.5, COMPLETION, "source", "destination", legend=ROUTE),
                unit="s",
            ),
            lines(
                "From deposit to completion, 95 of 100",
                quantile(0.95, COMPLETION, "source", "destination", legend=ROUTE),
                unit="s",
            ),
            lines(
                "Webhooks created per second",
                ("sum(rate(swap_notifier_messages_created_total[$__rate_interval]))", "all"),
            ),
        ),
    ),
)

DASHBOARDS: Final = (OVERVIEW, MONEY, CHAINS, PARTNERS, ONE_SWAP)
