"""The swaps of the demonstration."""

from __future__ import annotations

from dataclasses import dataclass


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

    @property
    def title(self) -> str:
        how = "through the Depository" if self.use_depository else "by a direct transfer"
        how = "by a signature" if self.use_gasless else how
        return (
            f"{self.amount} {self.source_token} on {self.source_network} "
            f"→ {self.destination_token} on {self.destination_network}, {how}"
        )


NATIVE_TO_NATIVE = Journey("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.5")
TOKEN_TO_TOKEN = Journey("BASE_DEVNET", "USDC", "ETHEREUM_DEVNET", "USDC", "250")
COIN_TO_OTHER_COIN = Journey(
    "ETHEREUM_DEVNET", "ETH", "POLYGON_DEVNET", "POL", "0.1", use_depository=False
)
BY_A_SIGNATURE = Journey(
    "BASE_DEVNET", "USDC", "POLYGON_DEVNET", "DAI", "120", use_depository=False, use_gasless=True
)
JOURNEYS = (NATIVE_TO_NATIVE, TOKEN_TO_TOKEN, COIN_TO_OTHER_COIN, BY_A_SIGNATURE)
