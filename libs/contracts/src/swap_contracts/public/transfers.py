"""The public model of transfers that named no swap."""

from __future__ import annotations

from typing import Literal

from swap_contracts.public.models import PublicModel


class LoneTransferModel(PublicModel):
    """`GET` and `POST …/attach_deposit`: a transfer, and what its sender signs for this swap."""

    transfer_id: str
    status: Literal["attachable", "submitted", "attached", "taken"]
    network: str
    transaction_hash: str
    token: str  # its address; the zero address is the native coin
    amount_in_base_units: str
    from_address: str
    to_address: str
    text: str  # for `personal_sign` by `from_address`
