"""What an app's fees added up to in one asset, paid by an operator's order. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid5

from swap_settler.model.changes import Changes
from swap_settler.model.ledger import ledger
from swap_settler.model.swap import Intent, IntentKind, IntentState


@dataclass(frozen=True, slots=True)
class PartnerFee:
    """What is owed to an app in one asset, and what it was paid of that asset before."""

    id: int
    app_id: UUID
    network: str
    token: str
    base_units: int
    paid_base_units: int = 0
    is_on_its_way: bool = False  # an earlier payment


def pay(
    fee: PartnerFee, *, to_address: str, at: datetime, paid_id: int, usd_micros: int | None
) -> Changes:
    """Return the changes when an operator orders the payment of a partner's fees.

    :param paid_id: what the Treasury accepts once; the next payment of the asset has another.
    :param usd_micros: its value now; None without a price.
    """
    payment = Intent(
        # The time makes it another intent than one that died.
        id=uuid5(fee.app_id, f"partner_fee/{fee.id}/{at.isoformat()}"),
        paid_id=paid_id,
        swap_id=None,
        deposit_id=None,
        kind=IntentKind.PARTNER_FEE,
        network=fee.network,
        token=fee.token,
        to_address=to_address,
        base_units=fee.base_units,
        charged_base_units=fee.base_units,
        usd_micros=usd_micros,
        state=IntentState.RESERVED,
        due_at=at,
        created_at=at,
        app_id=fee.app_id,
    )
    return Changes(intents=(payment,), ledger=(ledger.partner_fee_reserved(payment),))
