"""The ids of payments at the Treasury: each is derived from the purpose of the payment."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from eth_utils.crypto import keccak

Asset = tuple[str, str]  # network, token


def intent_of(owner: UUID, kind: bytes = b"output", leg: bytes = b"main") -> int:
    return int.from_bytes(keccak(owner.bytes + kind + b"\0" + leg), "big")


def claim_of(owner: UUID, leg: UUID | str, asset: Asset) -> int:
    """Return the intent by which an operator pays a claimable balance."""
    return intent_of(owner, b"claim", "/".join((str(leg), *asset)).encode())


def fee_payments(paid: Counter[tuple[int, Asset]], app_id: UUID, asset: Asset) -> dict[int, int]:
    """Return the payments of an app's fees; the id of each depends on the sum paid before it."""
    found: dict[int, int] = {}
    while True:
        leg = "/".join((*asset, str(sum(found.values())))).encode()
        intent = intent_of(app_id, b"partner_fee", leg)
        if not paid[intent, asset]:
            return found
        found[intent] = paid[intent, asset]
