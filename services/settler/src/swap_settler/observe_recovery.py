"""What happened to the database and to recoveries, one function per fact."""

from __future__ import annotations

import structlog

from swap_runtime.metrics import gauge

log = structlog.get_logger()

IN_RECOVERY = gauge("settler_in_recovery", "1 while older payments are held after a restore")
HELD = gauge("settler_recovery_held", "Payments and refunds that a recovery holds")


def began(cause: str, reason: str) -> None:
    log.error("recovery began", cause=cause, reason=reason)


def state(*, is_open: bool, held: int) -> None:
    IN_RECOVERY.set(int(is_open))
    HELD.set(held)


def ended(recovery_id: int, *, by: str, reason: str) -> None:
    log.warning("recovery ended by an operator", recovery_id=recovery_id, by=by, reason=reason)
