"""Why a price is not given.

* Refusal
  x RouteUnknown         the network, token or pair is not served
  x RateUnknown          a price or a gas cost is missing or too old
  x BelowMinimum         carries the limit
  x AboveMaximum         carries the limit
  x InventoryTooSmall    the destination cannot pay it now; carries what it can pay
  x MethodUnsupported    the source cannot be funded that way
  x SlippageTooLarge     the caller would accept almost nothing
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Method(StrEnum):
    DIRECT = "direct"
    DEPOSIT_ADDRESS = "deposit_address"
    DEPOSITORY = "depository"
    GASLESS = "gasless"


class Refusal(Exception):
    """The answer is no, in a sentence fit to show a user."""

    limit_base_units: int | None = None


class RouteUnknown(Refusal):
    def __init__(self) -> None:
        super().__init__("Route not found")


class RateUnknown(Refusal):
    def __init__(self) -> None:
        super().__init__("Rate not available")


class _OutsideLimits(Refusal):
    def __init__(self, limit_base_units: int, sentence: str) -> None:
        super().__init__(sentence)
        self.limit_base_units = limit_base_units


class BelowMinimum(_OutsideLimits):
    def __init__(self, limit_base_units: int) -> None:
        super().__init__(limit_base_units, "The amount is below the minimum of this route")


class AboveMaximum(_OutsideLimits):
    def __init__(self, limit_base_units: int) -> None:
        super().__init__(limit_base_units, "The amount is above the maximum of this route")


class InventoryTooSmall(_OutsideLimits):
    def __init__(self, limit_base_units: int) -> None:
        super().__init__(
            limit_base_units, "There is too little liquidity on the destination for this amount"
        )


_METHOD_SENTENCES: Final = {
    Method.DIRECT: "This route cannot be funded by a direct transfer",
    Method.DEPOSITORY: "The source network has no Depository",
    Method.DEPOSIT_ADDRESS: "This route cannot be funded through a deposit address",
    Method.GASLESS: "This token cannot be deposited by a signature",
}


class MethodUnsupported(Refusal):
    def __init__(self, method: Method) -> None:
        super().__init__(_METHOD_SENTENCES[method])
        self.method = method


class SlippageTooLarge(Refusal):
    def __init__(self) -> None:
        super().__init__("The slippage must be below 0.8, which is 80 %")
