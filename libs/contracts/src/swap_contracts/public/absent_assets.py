"""Networks and tokens that have left the catalogue, as the swaps with them are shown.

A swap stores its networks' names, and the addresses, decimals and prices of its tokens. Members
that the interface requires and nothing stores have the values of this module.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final

from swap_contracts.public.catalogue import NetworkFacts, TokenFacts

NATIVE: Final = "0x0000000000000000000000000000000000000000"
NATIVE_DECIMALS: Final = 18  # no swap stores those of a coin that only pays its gas
PRECISION_MAX: Final = 8  # as the catalogue's: amounts survive a double
NO_DATE: Final = "1970-01-01T00:00:00+00:00"  # the interface requires one


def absent_token(address: str, decimals: int) -> TokenFacts:
    """Return a token by what its swap stores: its symbol is its address."""
    precision = min(decimals, PRECISION_MAX)
    members: dict[str, Any] = {
        "symbol": address,
        "display_asset": address,
        "asset": address,
        "logo": "",
        "contract": None if address == NATIVE else address,
        "decimals": decimals,
        "precision": precision,
        "listing_date": NO_DATE,
        "source_rank": 0,
        "destination_rank": 0,
        "group": None,
        "supports_gasless_deposit": False,
        "gasless_standard": "",
    }
    return TokenFacts(decimals, precision, members)


def absent_network(name: str) -> NetworkFacts:
    """Return a network by its name, with its coin."""
    members = {
        "name": name,
        "display_name": name,
        "logo": "",
        "chain_id": None,
        "node_url": None,
        "nodes": None,
        "type": "evm",  # the only family that the services support
        "transaction_explorer_template": "",
        "account_explorer_template": "",
        "source_rank": 0,
        "destination_rank": 0,
        "metadata": {
            "listing_date": NO_DATE,
            "evm_oracle_contract": None,
            "evm_multicall_contract": None,
            "zks_paymaster_contract": None,
            "watchdog_contract": None,
        },
        "deposit_methods": None,
    }
    tokens = {NATIVE: absent_token(NATIVE, NATIVE_DECIMALS)}
    return NetworkFacts(NATIVE, MappingProxyType(tokens), members)
