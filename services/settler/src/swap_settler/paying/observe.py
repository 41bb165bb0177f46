"""What happened to payments on their way, one function per fact."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Final
from uuid import UUID

import structlog

from swap_chains.evm.check_roles import UnknownOperator
from swap_chains.ports import Fees
from swap_runtime.telemetry import tracing
from swap_runtime.telemetry.metrics import begin_at_zero, counter, gauge
from swap_settler.model.observe_changes import HALTS
from swap_settler.paying.decide.lane import GasAlarm

log = structlog.get_logger()

# Alert: grows for long. No node answers, or the database is away.
LANE_WAITS = counter(
    "settler_lane_waits", "Times that a chain or the database did not answer a lane", ["network"]
)
OLDEST_UNPAID = gauge(
    "settler_oldest_unpaid_seconds", "Age of the oldest payment that is not final", ["network"]
)
PAYMENT_OUTCOMES: Final = (
    "queued", "rejected", "kept", "refused", "broadcast_failed", "broadcast_refused", "sent_again",
    "untried",
)  # fmt: skip
PAYMENTS = counter("settler_payments", "What became of payments", ["network", "outcome"])
# Alert: any. The chain has less than the ledger.
SIGNER_SHORT = counter(
    "settler_signer_short", "Checks that found a signer with less than the ledger says", ["network"]
)
# Alert: any. A node reports falsely.
NODES_DIFFER = counter(
    "settler_nodes_differ", "Failed transactions that other nodes tell otherwise", ["network"]
)
OLDEST_UNMINED = gauge(
    "settler_oldest_unmined_seconds", "Age of the lowest nonce that no block took yet", ["network"]
)
# Alert: few. Without gas nothing is paid.
GAS_LEFT = gauge(
    "settler_signer_payments_left",
    "Payments that a signer has gas for, at the highest fee",
    ["network", "signer"],
)
# Alert: at the fee cap. The network takes more than the catalogue allows.
REPLACED = counter(
    "settler_replacements", "What was done about nonces that did not get mined", ["network", "act"]
)
# Alert: any. The key is used elsewhere, or a payment is forgotten.
UNEXPLAINED = counter(
    "settler_slots_unexplained", "Nonces that no transaction of the service used", ["network"]
)
# Alert: grows for long. Tokens at a deposit address that refuse to be moved.
SWEEPS_REFUSED = counter("settler_sweeps_refused", "Sweeps that would revert", ["network"])
# Alert: any. Each may pay from the Treasury within its outflow limits.
UNKNOWN_OPERATORS = gauge(
    "settler_unknown_operators", "Operators of contracts that are no signers", ["network"]
)
# Alert: any. A contract was changed, or the catalogue names another.
CONTRACT_FINDINGS = gauge(
    "settler_contract_findings",
    "Differences between the contracts of a network and the catalogue",
    ["network"],
)
# Alert: any. A change of such a contract's owner, who can empty it, is not detected.
WITHOUT_OWNER = gauge(
    "settler_contracts_without_owner",
    "Contracts of a live network that the catalogue names no owner of: their roles are not checked",
    ["network"],
)


FAILURES = (LANE_WAITS, SIGNER_SHORT, NODES_DIFFER, UNEXPLAINED, SWEEPS_REFUSED)


def networks_listed(networks: Collection[str]) -> None:
    """Begin to count the failures of networks that may have none for long."""
    for failures in FAILURES:
        begin_at_zero(failures, networks)
    begin_at_zero(REPLACED, networks, ("cancelled", "offered_more", "at_cap"))
    begin_at_zero(PAYMENTS, networks, PAYMENT_OUTCOMES)


@contextmanager
def sending(network: str, swaps: Mapping[str, Collection[UUID]]) -> Iterator[None]:
    """Record a span of each swap with a payment that is sent inside, by transaction."""
    if not tracing.is_on():
        yield
        return
    began, error = tracing.now(), None
    try:
        yield
    except Exception as raised:
        error = type(raised).__name__
        raise
    finally:
        for transaction_hash, swap_ids in swaps.items():
            names = {"network": network, "transaction_hash": transaction_hash}
            tracing.record_for_swaps(
                "send payment",
                swap_ids,
                kind=tracing.Kind.CLIENT,
                began=began,
                attributes=names,
                error=error,
            )


def payment_queued(swap_id: UUID | None, network: str, reason: str) -> None:
    log.info("payment queued", swap_id=swap_id, network=network, reason=reason)
    PAYMENTS.labels(network, "queued").inc()


def payment_rejected(swap_id: UUID | None, network: str, to_address: str) -> None:
    log.error("recipient is blocked", swap_id=swap_id, network=network, to_address=to_address)
    PAYMENTS.labels(network, "rejected").inc()


def payments_withheld(network: str, count: int) -> None:
    if count:
        log.info("payments wait for a cap", network=network, count=count)
        PAYMENTS.labels(network, "kept").inc(count)


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
        "nonces used by no transaction of the service",
        network=network,
        signer=signer,
        nonces=nonces,
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


def transaction_replaced(network: str, nonce: int, *, is_cancel: bool, fees: Fees) -> None:
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
    """An operator decides whether the cap is too low or the wait is acceptable."""
    log.error("stuck transaction at the fee cap", network=network, nonce=nonce, cap=cap)
    REPLACED.labels(network, "at_cap").inc()


def signer_gas(network: str, signer: str, balance: int, alarm: GasAlarm) -> None:
    left = alarm.payments_left(balance)
    GAS_LEFT.labels(network, signer).set(left)
    if left < alarm.payments_min:
        log.error("top up a signer", network=network, signer=signer, balance=balance, payments=left)


def lane_ended(network: str, signer: str) -> None:
    """Remove the lane's gauges: another process measures them now."""
    for measured, labels in (
        (GAS_LEFT, (network, signer)),
        (OLDEST_UNPAID, (network,)),
        (OLDEST_UNMINED, (network,)),
        (UNKNOWN_OPERATORS, (network,)),
        (CONTRACT_FINDINGS, (network,)),
    ):
        with suppress(KeyError):
            measured.remove(*labels)


def signer_short(network: str, signer: str, base_units: int) -> None:
    log.error("signer holds less than booked", network=network, signer=signer, short=base_units)
    SIGNER_SHORT.labels(network).inc()


def signer_halted(network: str, signer: str, known: int, nonce: int) -> None:
    log.error(
        "signer used by an external transaction",
        network=network,
        signer=signer,
        known_nonce=known,
        nonce=nonce,
    )
    HALTS.labels(network).inc()


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


def sweep_refused(network: str, sweeps: int, text: str) -> None:
    SWEEPS_REFUSED.labels(network).inc(sweeps)
    log.warning("sweep refused", network=network, sweeps=sweeps, error=text)


def nonces_fenced(network: str, signer: str, end_nonce: int, opened: int) -> None:
    log.warning(
        "nonces fenced in a recovery",
        network=network,
        signer=signer,
        end_nonce=end_nonce,
        no_ops=opened,
    )


def contracts_without_owner(network: str, names: Sequence[str]) -> None:
    WITHOUT_OWNER.labels(network).set(len(names))
    if names:
        log.error(
            "owners, operators and receivers are not compared with the chain: the catalogue names "
            "no owner",
            network=network,
            contracts=list(names),
        )


def contracts_compared(network: str, findings: Sequence[str]) -> None:
    CONTRACT_FINDINGS.labels(network).set(len(findings))
    if findings:
        log.error("contracts differ from the catalogue", network=network, findings=list(findings))


def unknown_operators(network: str, unknown: Sequence[UnknownOperator]) -> None:
    UNKNOWN_OPERATORS.labels(network).set(len(unknown))
    for one in unknown:
        log.error(
            "an operator of a contract is no signer of the catalogue",
            network=network,
            contract=one.contract,
            operator=one.operator,
        )
