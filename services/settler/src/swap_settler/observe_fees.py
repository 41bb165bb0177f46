"""What happened to what is owed to apps, one function per fact."""

from __future__ import annotations

import structlog

from swap_settler.domain.swap import Intent

log = structlog.get_logger()


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
