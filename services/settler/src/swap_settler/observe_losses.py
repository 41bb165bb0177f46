"""What was lost, or might have been, one function per fact."""

from __future__ import annotations

import structlog

from swap_runtime.metrics import counter

log = structlog.get_logger()

# Alert: any. Somebody has a key of ours.
FOREIGN = counter(
    "settler_foreign_nonces", "Nonces of ours that were proven to be used by others", ["network"]
)


def foreign_nonce(
    network: str, signer: str, nonce: int, transaction_hash: str, lost: int, *, by: str, reason: str
) -> None:
    log.error(
        "nonce of ours used by somebody else",
        network=network,
        signer=signer,
        nonce=nonce,
        transaction_hash=transaction_hash,
        lost_base_units=lost,
        by=by,
        reason=reason,
    )
    FOREIGN.labels(network).inc()
