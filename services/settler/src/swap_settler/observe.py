"""What happened, one function per fact: the only place that logs and counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from uuid import UUID

import structlog

from swap_chains.ports import Fees
from swap_domain.lifecycle import Status
from swap_runtime.metrics import counter, gauge
from swap_settler.domain.changes import Changes
from swap_settler.domain.lane import GasAlarm
from swap_settler.domain.signer import Signer
from swap_settler.domain.stored_sweeps import DueSweep
from swap_settler.domain.swap import Deposit, DepositState, Intent, IntentKind, Method, Swap

log = structlog.get_logger()

SWAPS = counter("settler_swaps", "Swaps that came to a status", ["status"])
FAILURES = counter("settler_failures", "Swaps that failed, by reason", ["reason"])
DEPOSITS = counter("settler_deposits", "Facts about deposits that were applied", ["state"])
WITHOUT_SWAP = counter("settler_deposits_without_swap", "Movements no swap asks for", ["network"])
LOSSES = counter("settler_losses", "Deposits that a reorg took after they were paid for")
HALTS = counter("settler_halts", "Times that a network's signers had to stop", ["network"])
HALTED = gauge("settler_signer_halted", "Signers that stand still until a person acts", ["network"])
UNBOOKED = gauge(
    "settler_withdrawals_unbooked", "Final withdrawals of more than the ledger has yet"
)
LANE_WAITS = counter(
    "settler_lane_waits", "Times that a chain or the database did not answer a lane", ["network"]
)
OLDEST_UNPAID = gauge(
    "settler_oldest_unpaid_seconds", "Age of the oldest payment that is not final", ["network"]
)
# Alert: the oldest is old. A cap is too small for the day, or much leaves that should not.
QUEUED = gauge("settler_payments_waiting", "Payments that wait for a cap", ["network"])
OLDEST_QUEUED = gauge(
    "settler_payments_waiting_oldest_seconds", "How long the first one does", ["network"]
)
QUEUE_TOO_SLOW = timedelta(minutes=30)
PAYMENTS = counter("settler_payments", "What became of payments", ["network", "outcome"])
SIGNER_SHORT = counter(
    "settler_signer_short", "Checks that found a signer with less than the ledger says", ["network"]
)
NODES_DIFFER = counter(
    "settler_nodes_differ", "Failed transactions that other nodes tell otherwise", ["network"]
)
REFUNDS = counter("settler_refunds", "What became of refunds", ["outcome"])
REQUOTES = counter("settler_requotes", "Quotes for what came late, in part or beyond", ["outcome"])
QUOTER_AWAY = counter("settler_quoter_away", "Questions that the quoter did not answer")
CLAIMS = counter("settler_claims", "What became of balances that operators paid", ["outcome"])
OLDEST_UNMINED = gauge(
    "settler_oldest_unmined_seconds", "Age of the lowest nonce that no block took yet", ["network"]
)
GAS_LEFT = gauge(
    "settler_signer_payments_left",
    "Payments that a signer has gas for, at the highest fee",
    ["network", "signer"],
)
REPLACED = counter(
    "settler_replacements", "What was done about nonces that did not get mined", ["network", "act"]
)
STUCK = gauge(
    "settler_stuck_swaps", "Swaps longer in a status than they may be: reads 0", ["status"]
)
UNEXPLAINED = counter(
    "settler_slots_unexplained", "Nonces consumed by no attempt of ours", ["network"]
)


def changed(changes: Sequence[Changes]) -> None:
    """Tell what a committed batch did."""
    for change in changes:
        for deposit in change.deposits:
            _deposit_changed(deposit)
        if change.swap is not None and change.swap.status is not change.previous_status:
            _status_changed(change.swap)
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


def _status_changed(swap: Swap) -> None:
    log.info("swap moved", swap_id=swap.id, status=swap.status.value)
    SWAPS.labels(swap.status.value).inc()
    if swap.fail_reason is not None and swap.status is Status.FAILED:
        FAILURES.labels(swap.fail_reason.value).inc()


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
        # Its swap may only be on its way; what nobody asks for is listed as unmatched.
        say = log.warning if is_quarantined else log.info
        say(
            "movement without a swap",
            deposit_id=deposit.id,
            network=deposit.network,
            is_quarantined=is_quarantined,
        )
        WITHOUT_SWAP.labels(deposit.network).inc()


def refunds_wait(network: str, count: int, reason: str) -> None:
    log.warning("refunds wait for a fee", network=network, count=count, reason=reason)
    REFUNDS.labels("waits").inc(count)


def requoted(changes: Sequence[Changes]) -> None:
    for swap in (change.swap for change in changes if change.swap is not None):
        is_new = swap.quote.last_requoted_at == swap.changed_at
        REQUOTES.labels("executed" if is_new else "declined").inc()


def stuck(status: Status, count: int) -> None:
    STUCK.labels(status.value).set(count)
    if count:
        log.error("swaps are stuck", status=status.value, count=count)


def silences(newly_silent: Iterable[str], ended: Iterable[str]) -> None:
    for network in newly_silent:
        log.error("a network makes no blocks", network=network)
    for network in ended:
        log.warning("a network makes blocks again", network=network)


def quoter_away(reason: str) -> None:
    log.warning("quoter away", reason=reason)
    QUOTER_AWAY.inc()


def withdrawn(network: str, token: str, to_address: str, base_units: int) -> None:
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
        log.error("the ledger has not what the owner took out", count=count)


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


def payment_queued(swap_id: UUID | None, network: str, reason: str) -> None:
    log.info("payment queued", swap_id=swap_id, network=network, reason=reason)
    PAYMENTS.labels(network, "queued").inc()


def payment_rejected(swap_id: UUID | None, network: str, to_address: str) -> None:
    log.error("recipient is blocked", swap_id=swap_id, network=network, to_address=to_address)
    PAYMENTS.labels(network, "rejected").inc()


def addresses_blocked(count: int, network: str | None, *, by: str, reason: str) -> None:
    log.warning("addresses blocked", count=count, network=network, by=by, reason=reason)


def addresses_let_go(count: int, network: str | None, *, by: str, reason: str) -> None:
    log.warning("addresses let go", count=count, network=network, by=by, reason=reason)


def payments_withheld(network: str, count: int) -> None:
    if count:
        log.info("payments wait for a cap", network=network, count=count)
        PAYMENTS.labels(network, "kept").inc(count)


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


def payment_refused(swap_id: UUID | None, network: str, reason: str) -> None:
    log.warning("payment refused", swap_id=swap_id, network=network, reason=reason)
    PAYMENTS.labels(network, "refused").inc()


def broadcast_failed(network: str, reason: str) -> None:
    log.warning("broadcast failed", network=network, reason=reason)
    PAYMENTS.labels(network, "broadcast_failed").inc()


def broadcast_refused(network: str, transaction_hash: str, reason: str) -> None:
    log.warning(
        "broadcast refused", network=network, transaction_hash=transaction_hash, reason=reason
    )
    PAYMENTS.labels(network, "broadcast_refused").inc()


def rebroadcast(network: str, transactions: int) -> None:
    log.info("sent again", network=network, transactions=transactions)
    PAYMENTS.labels(network, "sent_again").inc(transactions)


def slots_unexplained(network: str, signer: str, nonces: Sequence[int]) -> None:
    log.error(
        "nonces consumed by no attempt of ours", network=network, signer=signer, nonces=nonces
    )
    UNEXPLAINED.labels(network).inc()


def nodes_differ(
    network: str, transaction_hash: str, *, agree: Sequence[str], deny: Sequence[str]
) -> None:
    log.error(
        "nodes differ on a transaction that failed",
        network=network,
        transaction_hash=transaction_hash,
        agree=agree,
        deny=deny,
    )
    NODES_DIFFER.labels(network).inc()


def oldest_unmined(network: str, age: timedelta) -> None:
    OLDEST_UNMINED.labels(network).set(age.total_seconds())


def nothing_stuck(network: str) -> None:
    OLDEST_UNMINED.labels(network).set(0)


def replaced(network: str, nonce: int, *, is_cancel: bool, fees: Fees) -> None:
    log.warning(
        "stuck transaction replaced",
        network=network,
        nonce=nonce,
        is_cancel=is_cancel,
        max_fee_per_gas=fees.max_fee_per_gas,
        max_priority_fee_per_gas=fees.max_priority_fee_per_gas,
    )
    REPLACED.labels(network, "cancelled" if is_cancel else "offered_more").inc()


def at_fee_cap(network: str, nonce: int, cap: int) -> None:
    """A person decides whether the cap is too low for the times, or the wait is fine."""
    log.error("stuck transaction at the fee cap", network=network, nonce=nonce, cap=cap)
    REPLACED.labels(network, "at_cap").inc()


def signer_gas(network: str, signer: str, balance: int, alarm: GasAlarm) -> None:
    left = alarm.payments_left(balance)
    GAS_LEFT.labels(network, signer).set(left)
    if left < alarm.payments_min:
        log.error("top up a signer", network=network, signer=signer, balance=balance, payments=left)


def signer_short(network: str, signer: str, base_units: int) -> None:
    log.error("signer holds less than booked", network=network, signer=signer, short=base_units)
    SIGNER_SHORT.labels(network).inc()


def signer_halted(network: str, signer: str, known: int, nonce: int) -> None:
    log.error(
        "signer used without us", network=network, signer=signer, known_nonce=known, nonce=nonce
    )
    HALTS.labels(network).inc()


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


def payments_not_simulated(network: str, reason: str) -> None:
    log.warning("node could not try payments", network=network, reason=reason)
    PAYMENTS.labels(network, "untried").inc()


def oldest_unpaid(network: str, age: timedelta) -> None:
    OLDEST_UNPAID.labels(network).set(age.total_seconds())


def signer_without_key(network: str, signer: str) -> None:
    log.warning("no key for a signer: its lane runs elsewhere", network=network, signer=signer)


def lane_waits(network: str, reason: str) -> None:
    log.warning("lane waits", network=network, reason=reason)
    LANE_WAITS.labels(network).inc()


# Alert: grows for long. Tokens at a deposit address that refuse to be moved.
SWEEPS_REFUSED = counter("settler_sweeps_refused", "Sweeps that would revert", ["network"])
SWEEPS_UNPRICED = counter(
    "settler_sweeps_unpriced", "Looks at a token that no swap of its address asked for", ["network"]
)
SWEEPS_ORDERED = counter("settler_sweeps_ordered", "Sweeps of a deposit address", ["network"])


def sweeps_wait(network: str, error: str) -> None:
    log.warning("sweeps wait for a fee", network=network, error=error)


def sweeps_ordered(network: str, ordered: int, *, waiting: int) -> None:
    SWEEPS_ORDERED.labels(network).inc(ordered)
    if ordered or waiting:
        log.info("sweeps ordered", network=network, ordered=ordered, not_worth_it=waiting)


def sweeps_unpriced(network: str, due: Sequence[DueSweep]) -> None:
    """Tell what stands where another token was asked for: a person has it swept."""
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


def sweep_ordered(told: Mapping[str, object]) -> None:
    log.warning("sweep ordered", **told)


def sweep_refused(network: str, sweeps: int, text: str) -> None:
    SWEEPS_REFUSED.labels(network).inc(sweeps)
    log.warning("sweep refused", network=network, sweeps=sweeps, error=text)
