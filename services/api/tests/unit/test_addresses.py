"""Which addresses may take part in a swap."""

from __future__ import annotations

import pytest
from api_factories import (
    ALICE,
    DEPOSITORY,
    FACTORY,
    FUNDER,
    PAYMASTER,
    SIGNER,
    TREASURY,
    USDC,
    a_catalogue,
)

from swap_api.model.addresses import AddressRefused, AddressRules

WRONG_CHECKSUM = ALICE.replace("C51812dc3A", "c51812dc3A")


class TestAddressRules:
    @pytest.mark.parametrize("address", [ALICE, ALICE.lower(), "0x" + ALICE[2:].upper(), FUNDER])
    def test_gives_a_users_address_its_checksum(self, address: str) -> None:
        catalogue = a_catalogue()
        network = catalogue.network("BASE_DEVNET")

        checked = AddressRules(catalogue).check(address, network, field="destination_address")

        assert checked in (ALICE, FUNDER)

    @pytest.mark.parametrize(
        ("address", "why"),
        [
            (WRONG_CHECKSUM, "checksum"),
            ("0x" + "0" * 40, "zero address"),
            ("0x" + "0" * 39 + "1", "reserved"),
            ("0x" + "0" * 36 + "0100", "reserved"),
            (TREASURY, "belongs to this service"),
            (TREASURY.lower(), "belongs to this service"),
            (DEPOSITORY, "belongs to this service"),
            (SIGNER, "belongs to this service"),
            (PAYMASTER, "belongs to this service"),
            (FACTORY, "belongs to this service"),
            (USDC, "token contract"),
            (USDC.lower(), "token contract"),
            ("T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb", "not an address"),
            ("bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", "not an address"),
            (ALICE[:-1], "not an address"),
            (ALICE + "0", "not an address"),
            ("0X" + ALICE[2:], "not an address"),
            (ALICE[2:], "not an address"),
            (f" {ALICE}", "not an address"),
            (f"{ALICE}\n", "not an address"),
            ("", "not an address"),
        ],
    )
    @pytest.mark.fault("A8")
    def test_a8_refuses_what_would_swallow_money(self, address: str, why: str) -> None:
        catalogue = a_catalogue()
        network = catalogue.network("BASE_DEVNET")

        with pytest.raises(AddressRefused, match=why) as refused:
            AddressRules(catalogue).check(address, network, field="refund_address")

        assert refused.value.code == "INVALID_ADDRESS_ERROR"
        assert set(refused.value.metadata["field_errors"]) == {"refund_address"}

    def test_refuses_a_service_contract_on_a_network_without_it(self) -> None:
        catalogue = a_catalogue()
        bare = catalogue.network("BARE_DEVNET")

        with pytest.raises(AddressRefused):
            AddressRules(catalogue).check(DEPOSITORY, bare, field="destination_address")
