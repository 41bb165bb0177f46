"""The public members of the catalogue, ready to be put into answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

# How a user may fund from a network. The calls of a Depository are made from a wallet too.
WALLET: Final = "wallet"
DEPOSIT_ADDRESS: Final = "deposit_address"


@dataclass(frozen=True, slots=True)
class TokenFacts:
    """A token without its price, and the data that rounding needs."""

    decimals: int
    precision: int
    members: dict[str, Any]  # of TokenModel, without price_in_usd


@dataclass(frozen=True, slots=True)
class NetworkFacts:
    """A network without its native token, which carries a price."""

    native: str  # address of the native token among `tokens`
    tokens: Mapping[str, TokenFacts]  # by address
    members: dict[str, Any]  # of NetworkModel, without token


@dataclass(frozen=True, slots=True)
class PublicCatalogue:
    networks: Mapping[str, NetworkFacts]
    # What was made of these facts and is kept by who made it; forgotten when one of them changes.
    made: dict[Any, Any] = field(default_factory=dict)

    def offer_gasless(self, network: str, token: str, standard: str | None) -> None:
        """Say how a token is deposited by a signature from now on; None when it is not."""
        shown = {
            "supports_gasless_deposit": standard is not None,
            "gasless_standard": standard or "",
        }
        facts = self.networks[network].tokens[token]
        facts.members.update(shown)
        self.made.clear()

    def offer_deposit_addresses(self, network: str, *, is_offered: bool) -> None:
        """Say from now on whether money comes to the network by deposit addresses too."""
        ways = [WALLET, DEPOSIT_ADDRESS] if is_offered else [WALLET]
        self.networks[network].members["deposit_methods"] = ways
        self.made.clear()

    def token(self, network: str, token: str) -> TokenFacts:
        return self.networks[network].tokens[token]

    def find_token(self, network: str, token: str) -> TokenFacts | None:
        """Return a token that a stored amount counts; None when it has left the catalogue."""
        facts = self.networks.get(network)
        return None if facts is None else facts.tokens.get(token)

    def priced_token(self, network: str, token: str, usd: float) -> dict[str, Any]:
        return {**self.networks[network].tokens[token].members, "price_in_usd": usd}

    def priced_network(self, network: str, native_usd: float) -> dict[str, Any]:
        facts = self.networks[network]
        return {**facts.members, "token": self.priced_token(network, facts.native, native_usd)}
