"""What operators order and are shown, one function per fact."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from prometheus_client import Gauge

from swap_domain.lifecycle import Status
from swap_runtime.telemetry.metrics import begin_at_zero, counter, gauge
from swap_settler.model.swap import Intent
from swap_settler.operator.decide.backlog import Backlog, Cover, OpenSwaps
from swap_settler.operator.decide.reports import InvariantResult
from swap_settler.operator.decide.signer import EVERYWHERE, Signer

log = structlog.get_logger()

# Alert: any.
HALTED = gauge(
    "settler_signer_halted", "Signers that sign nothing new until an operator acts", ["network"]
)
QUEUED = gauge("settler_payments_waiting", "Payments that wait for a cap", ["network"])
# Alert: the oldest is old. A cap is too small for the day, or much leaves that should not.
OLDEST_QUEUED = gauge(
    "settler_payments_waiting_oldest_seconds", "How long the first one does", ["network"]
)
QUEUE_TOO_SLOW = timedelta(minutes=30)
OPEN_STATUSES = (Status.DEPOSIT_PENDING, Status.PAYOUT_PENDING, Status.REFUND_PENDING)
OPEN = gauge("settler_open_swaps", "Swaps in a status that is not their last", ["status"])
OLDEST_OPEN = gauge(
    "settler_open_swaps_oldest_seconds", "Since when the oldest of them exists", ["status"]
)
# Alert: any.
STUCK = gauge(
    "settler_stuck_swaps", "Swaps longer in a status than they may be: reads 0", ["status"]
)
OLDEST_STUCK = gauge(
    "settler_stuck_swaps_oldest_seconds",
    "Since when the oldest of them is in its status, or beyond its deadline",
    ["status"],
)
UNSETTLED = gauge(
    "settler_unsettled_deposits", "Booked deposits of swaps that have no end yet", ["network"]
)
# Alert: older than a swap takes. Money that came in, and has neither gone out nor back.
OLDEST_UNSETTLED = gauge(
    "settler_unsettled_deposits_oldest_seconds", "Age of the oldest of them", ["network"]
)
# Alert: many. Something refuses payments, or prices are not known.
REFUNDS_PENDING = gauge("settler_refunds_pending", "Refunds that are not final", ["network"])
# Alert: old.
OLDEST_REFUND = gauge(
    "settler_refunds_pending_oldest_seconds", "Age of the oldest of them", ["network"]
)
HELD = gauge("settler_held_base_units", "What the ledger has in the Treasury", ["network", "token"])
# Alert: more than is held. A liability is not covered.
OWED = gauge("settler_owed_base_units", "What the ledger owes of an asset", ["network", "token"])
# Alert: less than is owed. The chain has less than the liabilities.
TREASURY = gauge(
    "settler_treasury_base_units",
    "What the Treasury had at the last final block",
    ["network", "token"],
)
# Alert: any. The ledger, or its state of the chains, is wrong.
BROKEN_INVARIANTS = gauge(
    "settler_invariant_broken_rows", "Rows that break an invariant, 50 at most", ["invariant"]
)
# Alert: for long. Its query failed, or takes too long.
UNCHECKED_INVARIANTS = gauge(
    "settler_invariant_unchecked", "1 for an invariant whose query failed", ["invariant"]
)
# Alert: old.
INVARIANTS_CHECKED = gauge(
    "settler_invariants_checked_timestamp_seconds",
    "When this process checked them last; 0: it does not",
)
# Alert: any. An attacker may have a signer's key.
EXTERNAL_NONCES = counter(
    "settler_foreign_nonces",
    "Nonces of our signers that external transactions were proven to use",
    ["network"],
)
COUNTED_LOSSES = gauge(
    "settler_lost_usd_micros", "What reorgs took that was paid for, and still counts", ["network"]
)
# Alert: any.
OVER_BUDGET = counter(
    "settler_loss_budgets_spent", "Times that a network lost more than its budget", ["network"]
)
# Alert: any, so that a stop is not forgotten.
SOURCE_STOPPED = gauge(
    "settler_source_stopped", "1 while nothing is paid for what comes from there", ["network"]
)
# Alert: any, so that a stop is not forgotten.
STOPPED = gauge("settler_stopped", "1 while an operator lets nothing be signed", ["network"])


def networks_listed(networks: Collection[str]) -> None:
    """Begin to count the failures of networks that may have none for long."""
    for failures in (EXTERNAL_NONCES, OVER_BUDGET):
        begin_at_zero(failures, networks)


def open_swaps(found: Sequence[OpenSwaps]) -> None:
    _waiting(OPEN, OLDEST_OPEN, {one.status: one for one in found}, labels=OPEN_STATUSES)


def swaps_stuck(status: Status, count: int, oldest: timedelta) -> None:
    STUCK.labels(status.value).set(count)
    OLDEST_STUCK.labels(status.value).set(oldest.total_seconds())
    if count:
        log.error("swaps are stuck", status=status.value, count=count)


def deposits_unsettled(found: Sequence[Backlog], *, networks: Collection[str]) -> None:
    _waiting(UNSETTLED, OLDEST_UNSETTLED, {one.network: one for one in found}, labels=networks)


def refunds_pending(found: Sequence[Backlog], *, networks: Collection[str]) -> None:
    _waiting(REFUNDS_PENDING, OLDEST_REFUND, {one.network: one for one in found}, labels=networks)


def _waiting(
    count: Gauge,
    oldest: Gauge,
    found: Mapping[str, Backlog | OpenSwaps],
    *,
    labels: Collection[str],
) -> None:
    """Set both gauges of each label: to 0 where nothing waits."""
    for label in {*labels, *found}:
        one = found.get(label)
        count.labels(label).set(one.count if one else 0)
        oldest.labels(label).set(one.oldest.total_seconds() if one else 0)


def covers_measured(covers: Sequence[Cover]) -> None:
    for one in covers:
        asset = one.network, one.token
        HELD.labels(*asset).set(one.held_base_units)
        OWED.labels(*asset).set(one.owed_base_units)
        if one.treasury_base_units is not None:
            TREASURY.labels(*asset).set(one.treasury_base_units)


def silences(newly_silent: Iterable[str], ended: Iterable[str]) -> None:
    for network in newly_silent:
        log.error("a network makes no blocks", network=network)
    for network in ended:
        log.warning("a network makes blocks again", network=network)


def claim_ordered(intent: Intent, *, by: str, reason: str) -> None:
    log.warning(
        "claimable balance ordered to be paid",
        intent_id=intent.id,
        swap_id=intent.swap_id,
        deposit_id=intent.deposit_id,
        to_address=intent.to_address,
        base_units=intent.base_units,
        by=by,
        reason=reason,
    )


def addresses_blocked(count: int, network: str | None, *, by: str, reason: str) -> None:
    log.warning("addresses blocked", count=count, network=network, by=by, reason=reason)


def address_blocks_lifted(count: int, network: str | None, *, by: str, reason: str) -> None:
    log.warning("addresses unblocked", count=count, network=network, by=by, reason=reason)


def queue(network: str, count: int, oldest: timedelta) -> None:
    QUEUED.labels(network).set(count)
    OLDEST_QUEUED.labels(network).set(oldest.total_seconds())
    if oldest >= QUEUE_TOO_SLOW:
        log.error("payments wait long for a cap", network=network, count=count, oldest=str(oldest))


def cap_set(cap: Mapping[str, object], *, by: str, reason: str) -> None:
    log.warning("cap set", **cap, by=by, reason=reason)


def cap_lifted(cap: Mapping[str, object], *, by: str, reason: str) -> None:
    log.warning("cap lifted", **cap, by=by, reason=reason)


def payment_passed_caps(intent_id: UUID, *, by: str, reason: str) -> None:
    log.warning("cap pass granted", intent_id=intent_id, by=by, reason=reason)


def signers_halted(network: str, count: int) -> None:
    HALTED.labels(network).set(count)


def signer_resumed(signer: Signer, *, by: str, reason: str) -> None:
    log.warning(
        "signer resumed",
        network=signer.network,
        signer=signer.address,
        halted_reason=signer.halted and signer.halted.reason,
        by=by,
        reason=reason,
    )


def sweep_ordered(order: Mapping[str, object]) -> None:
    log.warning("sweep ordered", **order)


def partner_fee_ordered(intent: Intent, *, by: str, reason: str) -> None:
    log.warning(
        "partner's fee ordered to be paid",
        intent_id=intent.id,
        app_id=intent.app_id,
        network=intent.network,
        token=intent.token,
        base_units=intent.base_units,
        to_address=intent.to_address,
        by=by,
        reason=reason,
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


def counted_losses(network: str, usd_micros: int) -> None:
    COUNTED_LOSSES.labels(network).set(usd_micros)


def source_stopped(network: str, *, because: str) -> None:
    log.error("payments for a network's deposits stopped", network=network, because=because)
    OVER_BUDGET.labels(network).inc()


def source_stop_lifted(network: str, *, by: str, reason: str) -> None:
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


def payouts_stopped(network: str, *, by: str, reason: str) -> None:
    log.error("payouts stopped by an operator", network=network, by=by, reason=reason)


def round_not_ended_at_stop(network: str) -> None:
    log.error("a round that began before payouts were stopped has not ended yet", network=network)


def payout_stop_lifted(network: str, *, by: str, reason: str) -> None:
    log.warning("payouts resumed by an operator", network=network, by=by, reason=reason)


def network_closed(network: str, *, by: str, reason: str) -> None:
    log.warning("network closed to new swaps", network=network, by=by, reason=reason)


def network_opened(network: str, *, by: str, reason: str) -> None:
    log.warning("network opened to new swaps", network=network, by=by, reason=reason)


def stops(networks: Iterable[str], stopped: Collection[str]) -> None:
    for network in networks:
        is_stopped = network in stopped or EVERYWHERE in stopped
        STOPPED.labels(network).set(int(is_stopped))


def invariants_checked(at: datetime, results: Sequence[InvariantResult]) -> None:
    for result in results:
        BROKEN_INVARIANTS.labels(result.name).set(len(result.rows))
        UNCHECKED_INVARIANTS.labels(result.name).set(int(result.failure is not None))
        if result.rows:
            log.error("invariant broken", invariant=result.name, rows=len(result.rows))
        if result.failure is not None:
            log.error("invariant not checked", invariant=result.name, reason=result.failure)
    INVARIANTS_CHECKED.set(at.timestamp())


def invariants_not_checked(error: Exception) -> None:
    log.error("invariants not checked", error=str(error))


def invariants_left() -> None:
    for one in (BROKEN_INVARIANTS, UNCHECKED_INVARIANTS):
        one.clear()
    INVARIANTS_CHECKED.set(0)
