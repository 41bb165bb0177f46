"""What of the catalogue the public may see, ready to be put into answers and webhook payloads."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from swap_contracts.public.catalogue import (
    DEPOSIT_ADDRESS,
    WALLET,
    NetworkFacts,
    PublicCatalogue,
    TokenFacts,
)
from swap_domain.catalogue import Catalogue, Network, Token


def public_catalogue(catalogue: Catalogue) -> PublicCatalogue:
    """Return the catalogue's public members. Prices come with each answer."""
    networks = {name: _network(network) for name, network in catalogue.networks.items()}
    return PublicCatalogue(MappingProxyType(networks))


def _network(network: Network) -> NetworkFacts:
    tokens = {token.address: _token(network, token) for token in network.tokens}
    return NetworkFacts(network.native.address, MappingProxyType(tokens), _network_members(network))


def _network_members(network: Network) -> dict[str, Any]:
    """Only keyless nodes are shown: private ones come from settings and never pass here."""
    return {
        "name": network.name,
        "display_name": network.display_name,
        "logo": network.logo,
        "chain_id": str(network.chain_id),
        "node_url": next(iter(network.public_nodes), None),
        "nodes": list(network.public_nodes),
        "type": network.type,
        "transaction_explorer_template": network.transaction_explorer_template,
        "account_explorer_template": network.account_explorer_template,
        "source_rank": network.source_rank,
        "destination_rank": network.destination_rank,
        "metadata": {
            "listing_date": network.listing_date.isoformat(),
            "evm_oracle_contract": None,
            "evm_multicall_contract": None,
            "zks_paymaster_contract": None,
            "watchdog_contract": None,
        },
        "deposit_methods": (
            [WALLET] if network.contracts.deposit_addresses is None else [WALLET, DEPOSIT_ADDRESS]
        ),
    }


def _token(network: Network, token: Token) -> TokenFacts:
    gasless = network.gasless(token)
    members = {
        "symbol": token.symbol,
        "display_asset": token.symbol,
        "asset": token.name,
        "logo": token.logo,
        "contract": None if token.is_native else token.address,
        "decimals": token.decimals,
        "precision": token.precision,
        "listing_date": token.listing_date.isoformat(),
        "source_rank": token.source_rank,
        "destination_rank": token.destination_rank,
        "group": token.group,
        "supports_gasless_deposit": gasless is not None,
        "gasless_standard": "" if gasless is None else gasless.standard.value,
    }
    return TokenFacts(token.decimals, token.precision, members)
