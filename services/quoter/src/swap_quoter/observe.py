"""What happened, one function per fact: the only place that logs and counts."""

from __future__ import annotations

from functools import cache

import structlog
from prometheus_client import Counter

from swap_runtime.metrics import counter, gauge

log = structlog.get_logger()

ANSWERS = counter("quoter_answers", "Questions answered, by kind and outcome", ["kind", "outcome"])
PRICES = gauge("quoter_prices", "Prices that the source gives")
PRICES_UNREADABLE = counter("quoter_prices_unreadable", "Reads of the price source that failed")
GAS = gauge("quoter_max_fee_per_gas_wei", "What a unit of gas may cost", ["network"])
GAS_UNKNOWN = counter("quoter_gas_unknown", "Polls that no node answered", ["network"])
COMPLETIONS = counter("quoter_completions", "Completed swaps that entered the statistics")


def answered(kind: str, outcome: str) -> None:
    """Count only: a log line per quote would cost more than the quote."""
    _answers(kind, outcome).inc()


@cache
def _answers(kind: str, outcome: str) -> Counter:
    return ANSWERS.labels(kind, outcome)


def prices_read(number: int) -> None:
    log.info("prices read", number=number)
    PRICES.set(number)


def prices_unreadable(reason: str) -> None:
    log.warning("prices unreadable", reason=reason)
    PRICES_UNREADABLE.inc()


def gas_known(network: str, max_fee_per_gas: int) -> None:
    GAS.labels(network).set(max_fee_per_gas)


def gas_unknown(network: str) -> None:
    log.warning("gas unknown", network=network)
    GAS_UNKNOWN.labels(network).inc()


def completions_recorded(number: int) -> None:
    COMPLETIONS.inc(number)
