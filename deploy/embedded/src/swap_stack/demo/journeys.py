"""The swaps of the demonstration: each method, and each ending but `failed`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Method(StrEnum):
    """How a user funds a swap, by the name that its guide has."""

    DIRECT_TRANSFER = "direct transfer"
    DEPOSIT_ADDRESS = "deposit address"
    DEPOSITORY = "Depository"
    GASLESS = "gasless"


class PaymentTime(StrEnum):
    """When the user does."""

    AT_ONCE = "at once"
    LATE = "after the swap has expired"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Journey:
    """One swap that a user wants, and what is to become of it.

    The amount is whole coins or tokens, as users write it.
    """

    source_network: str
    source_token: str
    destination_network: str
    destination_token: str
    amount: str
    method: Method
    refuel: bool = False
    what_happens: str = "all of it comes"
    payment_time: PaymentTime = PaymentTime.AT_ONCE
    paid_percent: int = 100  # of what was asked for
    recipient_refuses: bool = False
    ending: str = "completed"
    requotes: int = 0
    is_refunded: bool = False

    @property
    def title(self) -> str:
        return (
            f"{self.amount} {self.source_token} on {self.source_network} "
            f"→ {self.destination_token} on {self.destination_network}, "
            f"{self.method}: {self.what_happens}"
        )

    @property
    def is_short_lived(self) -> bool:
        """Whether it needs a swap that expires within seconds."""
        return self.payment_time is not PaymentTime.AT_ONCE


NATIVE_TO_NATIVE = Journey("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.5", Method.DEPOSITORY)
TOKEN_TO_TOKEN = Journey(
    "BASE_DEVNET",
    "USDC",
    "ETHEREUM_DEVNET",
    "USDC",
    "250",
    Method.DEPOSITORY,
    refuel=True,
    what_happens="with a refuel",
)
COIN_TO_OTHER_COIN = Journey(
    "ETHEREUM_DEVNET", "ETH", "POLYGON_DEVNET", "POL", "0.1", Method.DIRECT_TRANSFER
)
BY_A_SIGNATURE = Journey("BASE_DEVNET", "USDC", "POLYGON_DEVNET", "DAI", "120", Method.GASLESS)
TO_AN_ADDRESS = Journey(
    "BASE_DEVNET", "ETH", "ETHEREUM_DEVNET", "USDC", "0.3", Method.DEPOSIT_ADDRESS
)

_ENDS = ("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.4")
PARTIAL = Journey(
    *_ENDS, Method.DIRECT_TRANSFER, what_happens="half of it comes", paid_percent=50, requotes=1
)
REFUSED = Journey(
    *_ENDS,
    Method.DEPOSITORY,
    ending="refunded",
    what_happens="its recipient refuses",
    recipient_refuses=True,
    is_refunded=True,
)
LATE = Journey(
    *_ENDS,
    Method.DIRECT_TRANSFER,
    ending="expired",
    what_happens="it comes late",
    payment_time=PaymentTime.LATE,
    is_refunded=True,
)
NEVER = Journey(
    *_ENDS,
    Method.DIRECT_TRANSFER,
    ending="expired",
    what_happens="nothing comes",
    payment_time=PaymentTime.NEVER,
)
JOURNEYS = (
    NATIVE_TO_NATIVE,
    TOKEN_TO_TOKEN,
    COIN_TO_OTHER_COIN,
    BY_A_SIGNATURE,
    TO_AN_ADDRESS,
    PARTIAL,
    REFUSED,
    LATE,
    NEVER,
)
