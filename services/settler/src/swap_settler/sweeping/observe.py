"""What happened to sweeps and withdrawals, one function per fact."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from swap_runtime.telemetry.metrics import counter, gauge
from swap_settler.model.treasury import DueSweep

log = structlog.get_logger()

# Alert: above 0 for long. The ledger has booked less than the owner withdrew.
UNBOOKED = gauge(
    "settler_withdrawals_unbooked", "Final withdrawals of more than the ledger has yet"
)
SWEEPS_UNPRICED = counter(
    "settler_sweeps_unpriced", "Looks at a token that no swap of its address asked for", ["network"]
)
SWEEPS_ORDERED = counter("settler_sweeps_ordered", "Sweeps of a deposit address", ["network"])


def inventory_withdrawn(network: str, token: str, to_address: str, base_units: int) -> None:
    log.warning(
        "the owner took inventory out",
        network=network,
        token=token,
        to_address=to_address,
        base_units=base_units,
    )


def inventory_indebted(network: str, token: str) -> None:
    log.error("the inventory owes more than it holds", network=network, token=token)


def withdrawals_unbooked(count: int, *, is_late: bool) -> None:
    UNBOOKED.set(count)
    if is_late:
        log.error("more withdrawn than the ledger has booked", count=count)


def sweeps_wait(network: str, error: str) -> None:
    log.warning("sweeps wait for a fee", network=network, error=error)


def sweeps_ordered(network: str, ordered: int, *, waiting: int) -> None:
    SWEEPS_ORDERED.labels(network).inc(ordered)
    if ordered or waiting:
        log.info("sweeps ordered", network=network, ordered=ordered, not_worth_it=waiting)


def sweeps_unpriced(network: str, due: Sequence[DueSweep]) -> None:
    """Log a token that is not the requested one: an operator orders its sweep."""
    for one in due:
        SWEEPS_UNPRICED.labels(network).inc()
        log.warning(
            "another token stands at a deposit address",
            network=network,
            address=one.address,
            token=one.token,
            base_units=one.base_units,
            sequence_number=one.sequence_number,
        )
