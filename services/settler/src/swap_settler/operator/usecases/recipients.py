"""Whether an address that an operator was given can take money."""

from __future__ import annotations

from swap_chains.evm.codec import ZERO_ADDRESS, checksum_address, has_valid_checksum
from swap_domain.catalogue import Catalogue
from swap_runtime.errors import RequestRefused


def checked_address(address: str) -> str:
    """Return the address as it is written everywhere.

    :raises RequestRefused: when it is none, or is misspelt.
    """
    try:
        known = checksum_address(address)
    except ValueError as error:
        raise RequestRefused(f"{address} is not an address") from error
    if not has_valid_checksum(address):
        raise RequestRefused(f"{address} is misspelt: its checksum is wrong")
    return known


def recipient_of(catalogue: Catalogue, network_name: str, address: str) -> str:
    """Return the address as it is written everywhere.

    :raises RequestRefused: when money to this address would be lost, and for a network that has
        left the catalogue.
    """
    network = catalogue.networks.get(network_name)
    if network is None:
        raise RequestRefused(f"{network_name} is not a network of the catalogue")
    known = checked_address(address)
    of_ours, addresses = network.contracts, network.contracts.deposit_addresses
    contracts = {of_ours.treasury, of_ours.depository, of_ours.paymaster}
    contracts |= {addresses.factory} if addresses else set()
    if known in contracts | {token.address for token in network.tokens} | {ZERO_ADDRESS}:
        raise RequestRefused(f"{address} is a contract that would keep it")
    return known
