"""What was lost, or might have been, one function per fact."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from uuid import UUID

import structlog

from swap_runtime.metrics import counter, gauge

log = structlog.get_logger()

# Alert: any. Somebody has a key of ours.
EXTERNAL_NONCES = counter(
    "settler_foreign_nonces", "Nonces of ours that were proven to be used by others", ["network"]
)
LOST = gauge(
    "settler_lost_usd_micros", "What reorgs took that was paid for, and still counts", ["network"]
)
# Alert: any.
OVER_BUDGET = counter(
    "settler_loss_budgets_spent", "Times that a network lost more than its budget", ["network"]
)
SOURCE_STOPPED = gauge(
    "settler_source_stopped", "1 while nothing is paid for what comes from there", ["network"]
)


def external_nonce(
    network: str, signer: str, nonce: int, transaction_hash: str, lost: int, *, by: str, reason: str
) -> None:
    log.error(
        "signer's nonce used by an external transaction",
        network=network,
        signer=signer,
        nonce=nonce,
        transaction_hash=transaction_hash,
        lost_base_units=lost,
        by=by,
        reason=reason,
    )
    EXTERNAL_NONCES.labels(network).inc()


def paid_externally(network: str, signer: str, paid_id: int) -> None:
    log.error(
        "payment made by an external transaction: an operator has to act",
        network=network,
        signer=signer,
        paid_id=str(paid_id),
    )


def lost(network: str, usd_micros: int) -> None:
    LOST.labels(network).set(usd_micros)


def source_stopped(network: str, *, because: str) -> None:
    log.error("payments for a network's deposits stopped", network=network, because=because)
    OVER_BUDGET.labels(network).inc()


def source_let_go(network: str, *, by: str, reason: str) -> None:
    log.warning("payments for a network's deposits let go", network=network, by=by, reason=reason)


def source_stops(networks: Iterable[str], stopped: Collection[str]) -> None:
    for network in networks:
        SOURCE_STOPPED.labels(network).set(int(network in stopped))


def rescue_ordered(
    network: str, transaction_hash: str, to_address: str, *, by: str, reason: str
) -> None:
    log.warning(
        "tokens of no catalogue to be returned by the Treasury's owner",
        network=network,
        transaction_hash=transaction_hash,
        to_address=to_address,
        by=by,
        reason=reason,
    )


def payment_reconciled(
    network: str, transaction_hash: str, intent_id: UUID, end: str, *, by: str, reason: str
) -> None:
    log.error(
        "payment reconciled with an external transaction",
        network=network,
        transaction_hash=transaction_hash,
        intent_id=str(intent_id),
        end=end,
        by=by,
        reason=reason,
    )
