"""What happened to deposits that somebody says are a swap's, one function per fact."""

from __future__ import annotations

import structlog

from swap_settler.domain.attaching import Proof

log = structlog.get_logger()


def attached(proof: Proof) -> None:
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
