"""A transfer that the payer may send by any means, for wallets and for clients."""

from __future__ import annotations

from typing import Any, Final

import orjson

from swap_api.funding.adapters.gasless_rendering import WITHOUT_DATA
from swap_api.model.deposit_actions import MANUAL_TRANSFER, TRANSFER, payment_uri
from swap_api.read_model.swaps import StoredSwap

# Marks of a deposit by manual transfer in a swap's answer.
HAS_ADDRESS: Final = b'"use_deposit_address":true'


def without_data(stored: StoredSwap) -> dict[str, Any]:
    """Return the action of a step that is done: it keeps the type by which clients look it up."""
    has_address = HAS_ADDRESS in stored.rendered.document
    return {**WITHOUT_DATA, "type": MANUAL_TRANSFER if has_address else TRANSFER}


def payment_uri_of(action: bytes | None) -> str | None:
    """Return the QR code's payment URI for a manual transfer."""
    if action is None or b'"type":"%b"' % MANUAL_TRANSFER.encode() not in action:
        return None
    fields = orjson.loads(action)
    return payment_uri(
        chain_id=fields["network"]["chain_id"],
        address=fields["to_address"],
        contract=fields["token"]["contract"],
        base_units=int(fields["amount_in_base_units"]),
    )
