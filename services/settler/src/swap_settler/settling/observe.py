"""What happened while swaps were settled, one function per fact."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from swap_runtime.telemetry.metrics import counter
from swap_settler.model.changes import Changes
from swap_settler.model.observe_changes import REFUNDS
from swap_settler.settling.decide.attaching import Proof

log = structlog.get_logger()

REQUOTES = counter("settler_requotes", "Quotes for what came late, in part or beyond", ["outcome"])
# Alert: grows for long.
QUOTER_UNAVAILABLE = counter("settler_quoter_away", "Questions that the quoter did not answer")


def refunds_wait(network: str, count: int, reason: str) -> None:
    log.warning("refunds wait for a fee", network=network, count=count, reason=reason)
    REFUNDS.labels("waits").inc(count)


def requotes_answered(changes: Sequence[Changes]) -> None:
    for swap in (change.swap for change in changes if change.swap is not None):
        is_new = swap.quote.last_requoted_at == swap.changed_at
        REQUOTES.labels("executed" if is_new else "declined").inc()


def quoter_unavailable(reason: str) -> None:
    log.warning("quoter away", reason=reason)
    QUOTER_UNAVAILABLE.inc()


def deposit_attached(proof: Proof) -> None:
    log.warning(
        "deposit attached to a swap",
        deposit_id=proof.deposit_id,
        swap_id=proof.swap_id,
        by=proof.by,
        is_by_signature=proof.signer is not None,
    )


def attachment_refused(proof: Proof, reason: str) -> None:
    log.warning(
        "deposit not attached", deposit_id=proof.deposit_id, swap_id=proof.swap_id, reason=reason
    )
