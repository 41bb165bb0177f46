"""The swaps of the demonstration."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Pays(StrEnum):
    """When the user does."""

    AT_ONCE = "at once"
    LATE = "after the swap has expired"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Journey:
    """One swap that a user wants. The amount is whole coins or tokens, as a person writes it."""

    source_network: str
    source_token: str
    destination_network: str
    destination_token: str
    amount: str
    use_depository: bool = True
    use_gasless: bool = False
    use_deposit_address: bool = False
    refuel: bool = False
    ending: str = "completed"
    what_happens: str = ""
    pays: Pays = Pays.AT_ONCE
    paid_percent: int = 100  # of what was asked for
    recipient_refuses: bool = False

    @property
    def title(self) -> str:
        how = "through the Depository" if self.use_depository else "by a direct transfer"
        how = "by a signature" if self.use_gasless else how
        how = "to an address of its own" if self.use_deposit_address else how
        what = f": {self.what_happens}" if self.what_happens else ""
        return (
            f"{self.amount} {self.source_token} on {self.source_network} "
            f"→ {self.destination_token} on {self.destination_network}, {how}{what}"
        )

    @property
    def is_hasty(self) -> bool:
        """Whether it needs a swap that lives for seconds."""
        return self.pays is not Pays.AT_ONCE


NATIVE_TO_NATIVE = Journey("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.5")
TOKEN_TO_TOKEN = Journey(
    "BASE_DEVNET",
    "USDC",
    "ETHEREUM_DEVNET",
    "USDC",
    "250",
    refuel=True,
    what_happens="with a refuel",
)
COIN_TO_OTHER_COIN = Journey(
    "ETHEREUM_DEVNET", "ETH", "POLYGON_DEVNET", "POL", "0.1", use_depository=False
)
BY_A_SIGNATURE = Journey(
    "BASE_DEVNET", "USDC", "POLYGON_DEVNET", "DAI", "120", use_depository=False, use_gasless=True
)
TO_AN_ADDRESS = Journey(
    "BASE_DEVNET",
    "ETH",
    "ETHEREUM_DEVNET",
    "USDC",
    "0.3",
    use_depository=False,
    use_deposit_address=True,
)
JOURNEYS = (NATIVE_TO_NATIVE, TOKEN_TO_TOKEN, COIN_TO_OTHER_COIN, BY_A_SIGNATURE, TO_AN_ADDRESS)

_ENDS = ("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.4")
PARTIAL = Journey(*_ENDS, use_depository=False, what_happens="half of it comes", paid_percent=50)
REFUSED = Journey(
    *_ENDS, ending="refunded", what_happens="its recipient refuses", recipient_refuses=True
)
LATE = Journey(
    *_ENDS, use_depository=False, ending="expired", what_happens="it comes late", pays=Pays.LATE
)
NEVER = Journey(
    *_ENDS, use_depository=False, ending="expired", what_happens="nothing comes", pays=Pays.NEVER
)
ENDINGS = (PARTIAL, REFUSED, LATE, NEVER)
