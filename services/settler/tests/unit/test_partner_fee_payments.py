"""Fees owed to an app: paid in full, by an order, as a standalone intent."""

from __future__ import annotations

from uuid import uuid5

import pytest

from services.settler.tests.factories import ETHEREUM, NOON, RECIPIENT, SOME, USDC
from swap_settler.model.changes import Changes
from swap_settler.model.ledger import ledger
from swap_settler.model.swap import Intent, IntentKind, IntentState
from swap_settler.operator.decide.partner_fees import PartnerFee, pay


@pytest.mark.parametrize("usd_micros", [12, None])
def test_all_that_is_owed_in_one_asset_is_paid_to_the_app(usd_micros: int | None) -> None:
    fee = PartnerFee(4, SOME, ETHEREUM, USDC[ETHEREUM], base_units=70, paid_base_units=30)

    change = pay(fee, to_address=RECIPIENT, at=NOON, paid_id=77, usd_micros=usd_micros)

    payment = Intent(
        id=uuid5(SOME, f"partner_fee/4/{NOON.isoformat()}"),
        paid_id=77,
        swap_id=None,
        deposit_id=None,
        kind=IntentKind.PARTNER_FEE,
        network=ETHEREUM,
        token=USDC[ETHEREUM],
        to_address=RECIPIENT,
        base_units=70,
        charged_base_units=70,
        usd_micros=usd_micros,
        state=IntentState.RESERVED,
        due_at=NOON,
        created_at=NOON,
        app_id=SOME,
    )
    assert change == Changes(intents=(payment,), ledger=(ledger.partner_fee_reserved(payment),))
