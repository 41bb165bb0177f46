"""What happened, one function per fact: the only place that logs and counts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache

import structlog
from prometheus_client import Counter, Histogram

from swap_quoter.domain.completions import Completion
from swap_runtime.telemetry import tracing
from swap_runtime.telemetry.metrics import begin_at_zero, counter, gauge, histogram

log = structlog.get_logger()

ANSWERS = counter("quoter_answers", "Questions answered, by kind and outcome", ["kind", "outcome"])
TOOK = histogram("quoter_answer_seconds", "How long a response takes", ["kind"])
# Alert: none.
PRICES = gauge("quoter_prices", "Prices that the sources agree on")
# Alert: grows for long.
PRICES_UNREADABLE = counter(
    "quoter_prices_unreadable", "Reads of a price source that failed", ["source"]
)
# Alert: any. A source is wrong, and routes are closed until all agree.
PRICES_DISPUTED = gauge("quoter_prices_disputed", "Prices whose sources are too far apart")
GAS = gauge("quoter_max_fee_per_gas_wei", "What a unit of gas may cost", ["network"])
# Alert: grows for long.
GAS_UNKNOWN = counter("quoter_gas_unknown", "Polls that no node answered", ["network"])
COMPLETIONS = counter("quoter_completions", "Completed swaps that entered the statistics")


def sources_listed(sources: Collection[str]) -> None:
    """Begin to count the failed reads of price sources that may have none for long."""
    begin_at_zero(PRICES_UNREADABLE, sources)


def networks_listed(networks: Collection[str]) -> None:
    """Begin to count the failed polls of networks that may have none for long."""
    begin_at_zero(GAS_UNKNOWN, networks)


def answer_counted(kind: str, outcome: str) -> None:
    """Count only: a log line per quote would cost more than the quote."""
    _answers(kind, outcome).inc()


@cache
def _answers(kind: str, outcome: str) -> Counter:
    return ANSWERS.labels(kind, outcome)


def request_answered(kind: str, seconds: float) -> None:
    _duration(kind).observe(seconds, tracing.exemplar())


@cache
def _duration(kind: str) -> Histogram:
    return TOOK.labels(kind)


def prices_read(number: int) -> None:
    log.info("prices read", number=number)
    PRICES.set(number)


def prices_unreadable(source: str, reason: str) -> None:
    log.warning("prices unreadable", source=source, reason=reason)
    PRICES_UNREADABLE.labels(source).inc()


def feeds_need_another_source(network: str) -> None:
    log.warning(
        "price feeds are read from one provider and count only beside another source",
        network=network,
    )


def prices_disputed(basis_points: Mapping[str, int]) -> None:
    log.warning("prices disputed", basis_points=dict(basis_points))
    PRICES_DISPUTED.set(len(basis_points))


def gas_known(network: str, max_fee_per_gas: int) -> None:
    GAS.labels(network).set(max_fee_per_gas)


def gas_unknown(network: str) -> None:
    log.warning("gas unknown", network=network)
    GAS_UNKNOWN.labels(network).inc()


def completions_recorded(completions: Sequence[Completion]) -> None:
    for one in completions:
        log.info("completion recorded", swap_id=one.swap_id, milliseconds=one.milliseconds)
    COMPLETIONS.inc(len(completions))
