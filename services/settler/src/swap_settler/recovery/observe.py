"""What happened to the database and to recoveries, one function per fact."""

from __future__ import annotations

from collections.abc import Collection

import structlog

from swap_runtime.telemetry.metrics import gauge
from swap_settler.recovery.decide.recovery import Proofs

log = structlog.get_logger()

# Alert: any.
IN_RECOVERY = gauge("settler_in_recovery", "1 while older payments are held after a restore")
# Alert: above 0 for long. Older payments that rest on such a network are held.
UNCOMPARED = gauge(
    "settler_networks_uncompared",
    "Networks of which too few providers answered since the database server started",
)
HELD = gauge("settler_recovery_held", "Payments and refunds that a recovery holds")
# Alert: any, for an hour. Only an operator ends such a hold.
RETAINED = gauge("settler_recovery_retained", "Holds that outlast their recovery, for an operator")
UNREAD = gauge("settler_recovery_networks_unread", "Networks not read to the head of its beginning")
UNCLOSED = gauge("settler_recovery_signers_open", "Signers whose forgotten nonces may be mined")
UNCOUNTED = gauge(
    "settler_recovery_addresses_uncounted",
    "Deposit addresses from before the recovery without a count since",
)
IDS_CHECKED = gauge(
    "settler_recovery_ids_checked", "Payment ids checked at Treasuries in the current pass"
)


def began(cause: str, reason: str) -> None:
    log.error("recovery began", cause=cause, reason=reason)


def networks_uncompared(networks: Collection[str]) -> None:
    UNCOMPARED.set(len(networks))
    if networks:
        log.error(
            "older payments are held: too few providers answer to compare the database with "
            "the chain",
            networks=sorted(networks),
        )
    else:
        log.warning("the database is compared with every chain")


def state(*, is_open: bool, held: int, retained: int) -> None:
    IN_RECOVERY.set(int(is_open))
    HELD.set(held)
    RETAINED.set(retained)
    if not is_open:
        UNREAD.set(0)
        UNCLOSED.set(0)
        UNCOUNTED.set(0)


def proofs_read(proofs: Proofs) -> None:
    UNREAD.set(sum(not one.is_read for one in proofs.networks))
    UNCLOSED.set(sum(not one.is_closed for one in proofs.signers))


def addresses_uncounted(addresses: int) -> None:
    UNCOUNTED.set(addresses)


def payment_ids_checked(ids: int) -> None:
    IDS_CHECKED.set(ids)


def recovery_ended(recovery_id: int, *, by: str, reason: str) -> None:
    log.warning("recovery ended", recovery_id=recovery_id, by=by, reason=reason)


def hold_released(hold_id: int, *, by: str, reason: str) -> None:
    log.warning("hold released by an operator", hold_id=hold_id, by=by, reason=reason)
