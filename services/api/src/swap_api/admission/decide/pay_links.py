"""What the holder of a swap's link may do."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

TOKEN_PREFIX: Final = "svc_pay_"
TOKEN_LENGTH_MAX: Final = 64


class LinkRight(StrEnum):
    """Each right has a separate token; the second includes the first."""

    PAY = "pay"  # see the swap, and submit the payer's own signature
    REFUND_ADDRESS = "refund_address"  # also say where the money goes back to, while it is unset
