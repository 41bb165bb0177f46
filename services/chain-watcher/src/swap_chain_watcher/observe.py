"""Facts about watching: one function per fact logs and counts it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime

import structlog

from swap_chain_watcher.domain.balance_rises import BalanceShortfall
from swap_chain_watcher.domain.denials import RisesDenied
from swap_chain_watcher.domain.evidence import Exposure, WithheldDeposits
from swap_chain_watcher.domain.movements import Movement, Quarantine, State, TrackedMovement
from swap_chain_watcher.domain.policy import Policy
from swap_chain_watcher.domain.second_look import MissedMovements, MovementsDenied
from swap_chain_watcher.domain.watch import Step
from swap_runtime.telemetry import tracing
from swap_runtime.telemetry.metrics import begin_at_zero, counter, gauge, histogram

log = structlog.get_logger()

# Alert: does not grow. The chain has stopped, or no node answers.
HEAD_NUMBER = gauge("watch_head_block", "Newest block that a node reports", ["network"])
CURSOR_NUMBER = gauge("watch_cursor_block", "Last block that is stored", ["network"])
FINALIZED_NUMBER = gauge("watch_finalized_block", "Last block known to be final", ["network"])
# Alert: high for long. Deposits are detected late.
HEAD_LAG = gauge("watch_head_lag_blocks", "Blocks between the head and the cursor", ["network"])
# Alert: any.
HALTED = gauge("watch_halted", "1 while a network is halted for an operator", ["network"])
BLOCKS = counter("watch_blocks", "Blocks stored", ["network"])
PRUNED = counter("watch_blocks_pruned", "Old blocks deleted, without movements", ["network"])
MOVEMENTS = counter("watch_movements", "Movements stored", ["network", "kind"])
PUBLISHED = counter("watch_published", "Changes published", ["network", "kind", "state"])
QUARANTINED = counter(
    "watch_quarantined", "Deposits that can credit nothing", ["network", "reason"]
)
# Alert: many blocks at once. Confirmation depths may be too low.
REORG_DEPTH = histogram(
    "watch_reorg_depth_blocks",
    "Blocks that a reorg reverted",
    ["network"],
    buckets=(1, 2, 3, 5, 8, 13, 21, 34, 64),
)
INTERRUPTIONS = counter(
    "watch_interruptions", "Times the follower of a network was restarted", ["network"]
)
# Alert: any. A node hid it, or had not indexed it yet.
MISSED = counter("watch_missed_movements", "Movements only the second look found", ["network"])
# Alert: any. One of two nodes reports falsely about blocks that cannot change.
CONTRADICTIONS = counter(
    "watch_contradictions", "Final blocks that differed when read again", ["network"]
)
# Alert: grows for long. Only the provider of the first look answers, and it is not queried twice.
SECOND_LOOK_FAILURES = counter(
    "watch_second_look_failures", "Second looks without a response of another provider", ["network"]
)
# Alert: below 2 on a live network. Reports of its only provider are used there without a second
# one.
PROVIDERS = gauge("watch_providers", "Independent providers of nodes", ["network"])
CHECKED_NUMBER = gauge("watch_checked_block", "Last final block that was read twice", ["network"])
# Alert: many, for long.
NODE_FAILURES = counter("watch_node_failures", "Requests that a node failed to answer", ["network"])
# From the block's own time, which has whole seconds: a distribution, not a stop-watch.
DETECTION_DELAY = histogram(
    "watch_detection_delay_seconds",
    "From a block's time to its movements being stored",
    ["network"],
    buckets=(0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 60.0, 300.0),
)
VERIFIED = counter(
    "watch_deposits_verified", "Deposits that a second provider reports", ["network"]
)
# Alert: stays above 0. Reported by one provider, and not by the second one.
UNVERIFIED = gauge(
    "watch_deposits_unverified",
    "Deposits and payouts that no second provider has reported yet",
    ["network"],
)
VERIFICATION_FAILURES = counter(
    "watch_verification_failures", "Blocks without a response of a second provider", ["network"]
)
# Alert: stays above 0. They wait for a second provider, or for room under the cap of the only one.
WITHHELD = gauge(
    "watch_deposits_withheld", "Deposits that only the number of providers holds back", ["network"]
)
WITHHELD_SECONDS = gauge(
    "watch_deposits_withheld_oldest_seconds", "How long the oldest of them waits", ["network"]
)
ONE_PROVIDER_CAP = gauge(
    "watch_one_provider_cap_base_units",
    "What one provider's report may confirm within the span",
    ["network", "token"],
)
# Alert: near the cap.
ONE_PROVIDER_USED = gauge(
    "watch_one_provider_used_base_units",
    "What one provider's report has confirmed within the span",
    ["network", "token"],
)
HINTS = counter("watch_hints", "Hints of transactions that may pay a swap", ["network"])
TARGETS = counter("watch_targets", "Deposit addresses assigned", ["network"])
RISES_EXPLAINED = counter(
    "watch_rises_explained", "Rises of coins whose transaction was found", ["network"]
)
ADDRESSES = gauge("watch_addresses", "Deposit addresses that are followed", ["network"])
YOUNG_ADDRESSES = gauge(
    "watch_young_addresses", "Deposit addresses that are counted with every block", ["network"]
)
# Alert: watch_young_addresses above 80 % of it. What is beyond it is counted once an hour.
YOUNG_ADDRESSES_MAX = gauge(
    "watch_young_addresses_max", "How many are counted with every block at most", ["network"]
)

# Alert: any. A node is wrong, or a sweep was missed.
COINS_MISSING = counter(
    "watch_coins_missing", "Counts of deposit addresses below what they received", ["network"]
)


FAILURES = (
    REORG_DEPTH, INTERRUPTIONS, MISSED, CONTRADICTIONS, SECOND_LOOK_FAILURES,
    NODE_FAILURES, VERIFICATION_FAILURES, COINS_MISSING,
)  # fmt: skip


def networks_listed(networks: Collection[str]) -> None:
    """Begin to count the failures of networks that may have none for long."""
    for failures in FAILURES:
        begin_at_zero(failures, networks)
    begin_at_zero(QUARANTINED, networks, Quarantine)


def watch_advanced(step: Step, *, at: datetime) -> None:
    network = step.after.network
    BLOCKS.labels(network).inc(len(step.added_blocks))
    CURSOR_NUMBER.labels(network).set(step.after.cursor.number)
    FINALIZED_NUMBER.labels(network).set(step.after.finalized_number)
    if step.orphaned_blocks:
        _blocks_reverted(step)
    movements_stored(step, at=at)


def movements_stored(step: Step, *, at: datetime) -> None:
    """Count what was seen and published, in any block."""
    network = step.after.network
    for kind, number in Counter(tracked.movement.kind for tracked in step.new_movements).items():
        MOVEMENTS.labels(network, kind.value).inc(number)
    changes = Counter((t.movement.kind, t.state) for t in step.publications if t.state is not None)
    for (kind, state), number in changes.items():
        PUBLISHED.labels(network, kind.value, state.value).inc(number)
    for tracked in step.publications:
        if tracked.movement.quarantine is not None and tracked.state is State.SEEN:
            _deposit_quarantined(tracked.movement, tracked.movement.quarantine)
    # Each block once; the trace of one of its movements is the exemplar.
    seen = {one.movement.block.time: one.movement.id for one in step.new_movements}
    for time, movement_id in seen.items():
        seconds = max((at - time).total_seconds(), 0)
        DETECTION_DELAY.labels(network).observe(seconds, tracing.exemplar(movement_id))


def _deposit_quarantined(movement: Movement, reason: Quarantine) -> None:
    QUARANTINED.labels(movement.network, reason.value).inc()
    log.warning(
        "deposit quarantined",
        network=movement.network,
        deposit_id=movement.id,
        transaction_hash=movement.transaction_hash,
        reason=reason.value,
    )


def _blocks_reverted(step: Step) -> None:
    network = step.after.network
    REORG_DEPTH.labels(network).observe(len(step.orphaned_blocks))
    log.warning(
        "blocks reverted",
        network=network,
        blocks=len(step.orphaned_blocks),
        lowest=min(block.number for block in step.orphaned_blocks),
        movements_reverted=sum(tracked.state is State.REVERTED for tracked in step.publications),
    )


def trust_configured(policy: Policy, providers: int) -> None:
    network = policy.network
    PROVIDERS.labels(network.name).set(providers)
    if policy.caps is None:
        return
    caps = {t.symbol: str(policy.caps.base_units[t.address.lower()]) for t in network.tokens}
    log.warning(
        "all nodes are of one provider",
        network=network.name,
        trusted_for="deposits, payouts, balances and finality: none of it is compared",
        caps_base_units=caps,
        span=str(policy.caps.span),
    )
    if uncapped := sorted(symbol for symbol, cap in caps.items() if cap == "0"):
        log.error(
            "deposits wait for a second provider: no tier and no setting gives a cap",
            network=network.name,
            tokens=uncapped,
        )


def deposits_withheld(found: Sequence[WithheldDeposits]) -> None:
    for gauge_ in (WITHHELD, WITHHELD_SECONDS):
        gauge_.clear()
    for one in found:
        WITHHELD.labels(one.network).set(one.deposits)
        WITHHELD_SECONDS.labels(one.network).set(one.oldest.total_seconds())


def exposures_measured(exposures: Sequence[Exposure]) -> None:
    for one in exposures:
        place = one.network, one.token
        ONE_PROVIDER_CAP.labels(*place).set(one.cap_base_units)
        ONE_PROVIDER_USED.labels(*place).set(one.used_base_units)


def second_look_done(network: str, missed: MissedMovements, *, checked_number: int) -> None:
    CHECKED_NUMBER.labels(network).set(checked_number)
    for tracked in missed.new_movements:
        MISSED.labels(network).inc()
        log.error(
            "movement missed at the first look",
            network=network,
            movement_id=tracked.movement.id,
            transaction_hash=tracked.movement.transaction_hash,
            block_number=tracked.movement.block.number,
        )


def second_look_failed(network: str, error: Exception) -> None:
    SECOND_LOOK_FAILURES.labels(network).inc()
    log.warning("second look failed", network=network, error=f"{type(error).__name__}: {error}")


def nodes_differed(network: str, error: Exception) -> None:
    CONTRADICTIONS.labels(network).inc()
    log.error("final block differs between nodes", network=network, error=str(error))


def deposits_verified(network: str, verified: int, *, of: int) -> None:
    VERIFIED.labels(network).inc(verified)
    UNVERIFIED.labels(network).set(of - verified)


def verification_failed(network: str, error: Exception) -> None:
    VERIFICATION_FAILURES.labels(network).inc()
    log.info("verification failed", network=network, error=f"{type(error).__name__}: {error}")


def movements_denied(error: MovementsDenied) -> None:
    CONTRADICTIONS.labels(error.network).inc()
    for movement in error.denied:
        log.error(
            "published movement is not in its final block",
            network=error.network,
            movement_id=movement.id,
            transaction_hash=movement.transaction_hash,
            block_number=movement.block.number,
            reported_by=movement.block.provider,
        )


def rises_denied(error: RisesDenied) -> None:
    CONTRADICTIONS.labels(error.network).inc()
    for denial in error.denials:
        log.error(
            "published coins are not at their address in a final block",
            network=error.network,
            movement_id=denial.movement.id,
            address=denial.movement.to_address,
            base_units=str(denial.movement.base_units),
            first_reported_by=denial.movement.block.provider,
            denied_by=list(denial.denied_by),
            reported_by=list(denial.reported_by),
            is_reverted=denial.is_disproved,
        )


def logs_taken_back(
    network: str, reverted: Sequence[TrackedMovement], replacements: Sequence[TrackedMovement]
) -> None:
    """Both were published, by an operator's order."""
    for tracked in (*reverted, *replacements):
        movement = tracked.movement
        if tracked.state is not None:
            PUBLISHED.labels(network, movement.kind, tracked.state).inc()
        log.error(
            "log that every provider denies was taken back"
            if tracked.state is State.REVERTED
            else "log published in place of what was taken back",
            network=network,
            movement_id=movement.id,
            transaction_hash=movement.transaction_hash,
            block_number=movement.block.number,
            reported_by=movement.block.provider,
        )


def node_failed(network: str, error: Exception) -> None:
    NODE_FAILURES.labels(network).inc()
    log.info("node failed", network=network, error=f"{type(error).__name__}: {error}")


def following_interrupted(network: str, error: Exception) -> None:
    INTERRUPTIONS.labels(network).inc()
    log.warning("following interrupted", network=network, error=f"{type(error).__name__}: {error}")


def network_halted(network: str, reason: str) -> None:
    HALTED.labels(network).set(1)
    log.error("network halted", network=network, reason=reason)


def network_still_halted(network: str) -> None:
    HALTED.labels(network).set(1)


def network_resumed(network: str, reason: str) -> None:
    log.warning("network resumed", network=network, reason=reason)


def network_followed(network: str) -> None:
    HALTED.labels(network).set(0)


def head_seen(network: str, *, head: int, cursor: int, finalized: int) -> None:
    HEAD_NUMBER.labels(network).set(head)
    CURSOR_NUMBER.labels(network).set(cursor)
    FINALIZED_NUMBER.labels(network).set(finalized)
    HEAD_LAG.labels(network).set(max(head - cursor, 0))


def hint_received(network: str, transaction_hash: str, *, trace_id: str) -> None:
    HINTS.labels(network).inc()
    log.info(
        "deposit hint received",
        network=network,
        transaction_hash=transaction_hash,
        trace_id=trace_id,
    )


def target_assigned(network: str, address: str, *, trace_id: str) -> None:
    TARGETS.labels(network).inc()
    log.info("deposit address assigned", network=network, address=address, trace_id=trace_id)


def addresses_watched(network: str, addresses: int, *, young: int, young_max: int) -> None:
    ADDRESSES.labels(network).set(addresses)
    YOUNG_ADDRESSES.labels(network).set(young)
    YOUNG_ADDRESSES_MAX.labels(network).set(young_max)


def targets_activated(network: str, addresses: int, movements: int) -> None:
    log.info("deposit addresses followed", network=network, addresses=addresses, came=movements)


def targets_deferred(network: str, addresses: int, error: Exception) -> None:
    log.warning(
        "deposit addresses not activated", network=network, addresses=addresses, error=str(error)
    )


def coins_uncounted(network: str, block_number: int, error: Exception) -> None:
    log.warning(
        "balances not counted", network=network, block_number=block_number, error=str(error)
    )


def coins_missing(network: str, error: BalanceShortfall) -> None:
    COINS_MISSING.labels(network).inc()
    log.error("balance missing at a deposit address", network=network, error=str(error))


def rises_explained(explained: Sequence[TrackedMovement]) -> None:
    for movement in (one.movement for one in explained):
        RISES_EXPLAINED.labels(movement.network).inc()
        log.info(
            "transaction of coins found",
            network=movement.network,
            deposit_id=movement.id,
            transaction_hash=movement.transaction_hash,
        )


def rises_unexplained(network: str, error: Exception) -> None:
    log.info("transactions of balance rises not read", network=network, error=str(error))


def blocks_pruned(network: str, blocks: int) -> None:
    if blocks:
        PRUNED.labels(network).inc(blocks)
        log.info("old blocks deleted", network=network, blocks=blocks)
