"""Which addresses may take part in a swap."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from swap_api.model.refusals import ApiRefusal
from swap_chains.evm.codec import checksum_address, has_valid_checksum
from swap_contracts.public.errors import ErrorCode
from swap_domain.catalogue import Catalogue, Network

# Precompiles and the addresses that chains keep for themselves.
RESERVED_END: Final = 0x10000

_FORM: Final = re.compile(r"0x[0-9a-fA-F]{40}")


class AddressRefused(ApiRefusal):
    def __init__(self, field: str, why: str) -> None:
        super().__init__(
            ErrorCode.INVALID_ADDRESS_ERROR,
            f"{field} {why}",
            metadata={"field_errors": {field: why}},
        )


def refuse_own(fields: Mapping[str, str | None], own: frozenset[str]) -> None:
    """Refuse deposit addresses of swaps: they pay to the Treasury alone.

    :param own: in lower case.
    :raises AddressRefused: with the first field at fault.
    """
    for field, address in fields.items():
        if address is not None and address.lower() in own:
            raise AddressRefused(field, "belongs to this service")


class AddressRules:
    """Separates users' addresses from those that would lose money or confuse the ledger."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._own_addresses = frozenset(
            address.casefold()
            for network in catalogue.networks.values()
            for address in _service_addresses(network)
        )

    def check(self, text: str, network: Network, *, field: str) -> str:
        """Return the address in its checksummed form.

        :raises AddressRefused: with the field, when it cannot be a user's address there.
        """
        if not _FORM.fullmatch(text):
            raise AddressRefused(field, f"is not an address on {network.display_name}")
        if not has_valid_checksum(text):
            raise AddressRefused(field, "has a wrong checksum; compare it with its source")
        number = int(text, 16)
        if number == 0:
            raise AddressRefused(field, "is the zero address")
        if number < RESERVED_END:
            raise AddressRefused(field, "is reserved by the network")
        if text.casefold() in self._own_addresses:
            raise AddressRefused(field, "belongs to this service")
        if any(text.casefold() == token.address.casefold() for token in network.tokens):
            raise AddressRefused(field, "is a token contract")
        return checksum_address(text)


def _service_addresses(network: Network) -> tuple[str, ...]:
    """Return the contracts' addresses: one on several networks is the service's on each."""
    contracts = network.contracts
    addresses = contracts.deposit_addresses
    factory = None if addresses is None else addresses.factory
    found = (
        contracts.treasury,
        contracts.depository,
        contracts.paymaster,
        factory,
        *network.signers,
    )
    return tuple(address for address in found if address is not None)
