"""What happened, one function per fact: the only place that logs and counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import structlog

from swap_domain.lifecycle import Status
from swap_runtime.telemetry import tracing
from swap_runtime.telemetry.metrics import begin_at_zero, counter, histogram
from swap_settler.model.changes import Changes
from swap_settler.model.swap import Deposit, DepositState, FailReason, IntentKind, Method, Swap

# A swap may go from one to the other; the first counts.
ENDS_WITHOUT_OUTPUT: Final = (Status.FAILED, Status.REFUND_PENDING)
UNKNOWN_REASON: Final = "unknown"
log = structlog.get_logger()

SWAPS = counter("settler_swaps", "Swaps that came to a status", ["status"])
begin_at_zero(SWAPS, Status)
# Finality of both networks is in it: minutes are usual.
COMPLETION = histogram(
    "settler_swap_completion_seconds",
    "From the first report of a deposit to the swap's completion",
    ["source", "destination"],
    buckets=(2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600),
)
FAILURES = counter("settler_failures", "Swaps that failed, by reason", ["reason"])
begin_at_zero(FAILURES, FailReason)
UNSUCCESSFUL = counter(
    "settler_swaps_unsuccessful",
    "Swaps with money whose output will not be paid, by reason",
    ["reason"],
)
begin_at_zero(UNSUCCESSFUL, (*FailReason, UNKNOWN_REASON))
DEPOSITS = counter("settler_deposits", "Facts about deposits that were applied", ["state"])
WITHOUT_SWAP = counter("settler_deposits_without_swap", "Movements no swap asks for", ["network"])
# Alert: any.
LOSSES = counter("settler_losses", "Deposits that a reorg took after they were paid for")
HALTS = counter("settler_halts", "Times that a network's signers had to stop", ["network"])
REFUNDS = counter("settler_refunds", "What became of refunds", ["outcome"])
CLAIMS = counter("settler_claims", "What became of balances that operators paid", ["outcome"])


def changes_committed(changes: Sequence[Changes]) -> None:
    """Log and count what a committed batch did."""
    for change in changes:
        for deposit in change.deposits:
            _deposit_changed(deposit)
        if change.swap is not None and change.swap.status is not change.previous_status:
            _status_changed(change.swap, change.previous_status)
        for entry in change.ledger:
            if entry.kind == "lost":
                log.error("deposit lost after payout", swap_id=entry.swap_id, key=entry.dedupe_key)
                LOSSES.inc()
        _payments_back_changed(change)
        if change.halt is not None:
            # Where a recovery looks for it, the signers go on.
            event = "signers halted" if change.halt.at is None else "payment not explained"
            log.error(event, network=change.halt.network, reason=change.halt.reason)
            HALTS.labels(change.halt.network).inc()


def _status_changed(swap: Swap, previous: Status | None) -> None:
    log.info("swap moved", swap_id=swap.id, status=swap.status.value)
    SWAPS.labels(swap.status.value).inc()
    if swap.fail_reason is not None and swap.status is Status.FAILED:
        FAILURES.labels(swap.fail_reason.value).inc()
    if swap.status in ENDS_WITHOUT_OUTPUT and previous not in ENDS_WITHOUT_OUTPUT:
        reason = UNKNOWN_REASON if swap.fail_reason is None else swap.fail_reason.value
        UNSUCCESSFUL.labels(reason).inc()
    if swap.status is Status.COMPLETED:
        _swap_completed(swap)


def _swap_completed(swap: Swap) -> None:
    received = (d.received_at for d in swap.deposits.values() if d.is_booked)
    first = min(received, default=swap.changed_at)
    terms = swap.terms
    duration = COMPLETION.labels(terms.source.network, terms.destination.network)
    seconds = max((swap.changed_at - first).total_seconds(), 0)
    duration.observe(seconds, tracing.exemplar(swap.id))


def _payments_back_changed(change: Changes) -> None:
    for intent in change.intents:
        if intent.kind is IntentKind.REFUND:
            REFUNDS.labels(intent.state.value).inc()
        if intent.kind is IntentKind.CLAIM:
            log.info(
                "claim moved", swap_id=intent.swap_id, intent_id=intent.id, state=intent.state.value
            )
            CLAIMS.labels(intent.state.value).inc()


def _deposit_changed(deposit: Deposit) -> None:
    DEPOSITS.labels(deposit.state.value).inc()
    if deposit.swap_id is None and deposit.method is not Method.FUNDING and deposit.is_booked:
        is_quarantined = deposit.state is DepositState.QUARANTINED
        # Its swap may not have arrived yet; an unsolicited deposit is listed as unmatched.
        say = log.warning if is_quarantined else log.info
        say(
            "movement without a swap",
            deposit_id=deposit.id,
            network=deposit.network,
            is_quarantined=is_quarantined,
        )
        WITHOUT_SWAP.labels(deposit.network).inc()
