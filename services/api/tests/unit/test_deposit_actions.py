"""The deposit actions of a user, byte by byte."""

from __future__ import annotations

import pytest
from api_factories import (
    DEPOSITORY,
    FACTORY,
    INIT_CODE_HASH,
    TREASURY,
    USDC,
    a_catalogue,
    an_input,
)

from swap_api.model.deposit_actions import (
    StepStatus,
    address_action,
    deposit_step_status,
    depository_action,
    direct_action,
    payment_uri,
)
from swap_chains.evm.deposit_addresses import deposit_address
from swap_domain.catalogue import NATIVE

ID = "0x" + "0" * 50 + "1fffffffffffff"
TREASURY_WORD = "000000000000000000000000e7f1725e7734ce288f8367e1bb143e90bb3f0512"
USDC_WORD = "0000000000000000000000005fbdb2315678afecb367f032d93f642f64180aa3"
LARGEST = 2**53 - 1
MEMO = "53574150" + "0" * 42 + "1fffffffffffff"


class TestDepositoryAction:
    def test_sends_native_value_with_the_call(self) -> None:
        network = a_catalogue().network("ETHEREUM_DEVNET")

        action = depository_action(
            network, network.native, sequence_number=LARGEST, base_units=10**18
        )

        assert action.to_address == DEPOSITORY
        assert action.base_units == 10**18
        assert action.call_data == "0x80a6de92" + ID[2:] + TREASURY_WORD
        assert action.encoded_args == (ID, TREASURY)

    def test_sends_no_value_with_a_tokens_call(self) -> None:
        network = a_catalogue().network("ETHEREUM_DEVNET")

        action = depository_action(
            network, network.token(USDC), sequence_number=LARGEST, base_units=25_500_000
        )

        amount = f"{25_500_000:064x}"
        assert action.base_units == 0
        assert action.call_data == ("0xf4371f63" + ID[2:] + USDC_WORD + TREASURY_WORD + amount)
        assert action.encoded_args == (ID, USDC, TREASURY, "25500000")

    def test_needs_a_depository(self) -> None:
        network = a_catalogue().network("BARE_DEVNET")

        with pytest.raises(ValueError, match="no Depository"):
            depository_action(network, network.native, sequence_number=1, base_units=1)


class TestDirectAction:
    @pytest.mark.parametrize("name", ["ETHEREUM_DEVNET", "BARE_DEVNET"])
    def test_sends_a_coin_to_the_treasury_with_the_memo(self, name: str) -> None:
        network = a_catalogue().network(name)

        action = direct_action(network, network.native, sequence_number=LARGEST, base_units=10**18)

        assert (action.to_address, action.base_units) == (TREASURY, 10**18)
        assert action.call_data == "0x" + MEMO
        assert action.encoded_args == ()

    def test_calls_a_tokens_transfer_with_the_memo_behind_its_arguments(self) -> None:
        network = a_catalogue().network("ETHEREUM_DEVNET")

        action = direct_action(
            network, network.token(USDC), sequence_number=LARGEST, base_units=25_500_000
        )

        amount = f"{25_500_000:064x}"
        assert (action.to_address, action.base_units) == (USDC, 0)
        assert action.call_data == "0xa9059cbb" + TREASURY_WORD + amount + MEMO
        assert action.encoded_args == (TREASURY, "25500000")


class TestAddressAction:
    @pytest.mark.parametrize("token", [NATIVE, USDC], ids=["coin", "token"])
    def test_asks_for_a_transfer_to_the_swaps_own_address(self, token: str) -> None:
        network = a_catalogue().network("ETHEREUM_DEVNET")

        action = address_action(
            network, network.token(token), sequence_number=LARGEST, base_units=25_500_000
        )

        assert action.to_address == deposit_address(FACTORY, INIT_CODE_HASH, LARGEST)
        assert (action.type, action.base_units) == ("manual_transfer", 25_500_000)
        assert (action.call_data, action.gas_limit, action.encoded_args) == (None, None, None)

    def test_needs_a_factory(self) -> None:
        network = a_catalogue().network("BARE_DEVNET")

        with pytest.raises(ValueError, match="no deposit addresses"):
            address_action(network, network.native, sequence_number=1, base_units=1)

    @pytest.mark.parametrize(
        ("contract", "base_units", "uri"),
        [
            (None, 5, "ethereum:0xA@1?value=5"),
            (None, 0, "ethereum:0xA@1"),
            ("0xT", 5, "ethereum:0xT@1/transfer?address=0xA&uint256=5"),
            ("0xT", 0, "ethereum:0xT@1/transfer?address=0xA"),
        ],
    )
    def test_is_a_payment_uri_for_wallets(
        self, contract: str | None, base_units: int, uri: str
    ) -> None:
        shown = payment_uri(chain_id="1", address="0xA", contract=contract, base_units=base_units)
        assert shown == uri


class TestDepositStepStatus:
    @pytest.mark.parametrize(
        ("status", "has_input", "expected"),
        [
            ("user_transfer_pending", False, StepStatus.ACTION_REQUIRED),
            ("user_transfer_pending", True, StepStatus.IN_PROGRESS),
            ("ls_transfer_pending", True, StepStatus.COMPLETED),
            ("completed", True, StepStatus.COMPLETED),
            ("pending_refund", True, StepStatus.COMPLETED),
            ("refunded", True, StepStatus.COMPLETED),
            ("failed", True, StepStatus.COMPLETED),
            ("expired", False, StepStatus.EXPIRED),
            ("expired", True, StepStatus.EXPIRED),
        ],
    )
    def test_follows_the_swap(self, status: str, has_input: bool, expected: StepStatus) -> None:
        transactions = [an_input()] if has_input else []

        assert deposit_step_status(status, transactions) is expected
