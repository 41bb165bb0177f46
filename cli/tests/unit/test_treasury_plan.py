"""The plan moves spare inventory to shortages, and never liabilities."""

from __future__ import annotations

from dataclasses import replace

import pytest
from eth_abi.abi import encode
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from hypothesis import given
from hypothesis import strategies as st

from swapctl.call_data import SELECTORS, WrongAddress, encode_call
from swapctl.treasury_plan import GasTank, Holding, Plan, free_target, make_plan

BASE = Holding("USDC", "BASE", "0x" + "a" * 40, 6, "0x" + "b" * 40, held=0, owed=0, target=0)
ETHEREUM = replace(BASE, network="ETHEREUM")
OTHER_DECIMALS = replace(BASE, network="BSC", decimals=18)
UNITS = st.integers(min_value=0, max_value=10**12)


def moved(plan: Plan) -> list[tuple[str, str, int, int]]:
    return [
        (move.source.network, move.destination.network, move.source_units, move.destination_units)
        for move in plan.moves
    ]


ADDRESS_BYTES = st.binary(min_size=20, max_size=20)


class TestAPlan:
    def test_moves_spare_inventory_to_the_network_with_a_shortage(self) -> None:
        plan = make_plan([replace(BASE, held=100, owed=10), replace(ETHEREUM, target=40)])

        assert moved(plan) == [("BASE", "ETHEREUM", 40, 40)]
        assert plan.shortages == []

    def test_never_moves_liabilities_or_the_free_target(self) -> None:
        plan = make_plan([replace(BASE, held=100, owed=70, target=10), replace(ETHEREUM, owed=50)])

        assert moved(plan) == [("BASE", "ETHEREUM", 20, 20)]
        [short] = plan.shortages
        assert (short.holding.network, short.missing) == ("ETHEREUM", 30)

    def test_counts_in_the_units_of_each_network(self) -> None:
        plan = make_plan(
            [replace(OTHER_DECIMALS, held=5 * 10**18), replace(BASE, target=2 * 10**6)]
        )

        assert moved(plan) == [("BSC", "BASE", 2 * 10**18, 2 * 10**6)]

    def test_does_not_move_less_than_a_unit_of_the_other_network(self) -> None:
        plan = make_plan([replace(OTHER_DECIMALS, held=10**11), replace(BASE, target=1)])

        assert moved(plan) == []
        assert [short.missing for short in plan.shortages] == [1]

    def test_keeps_tokens_apart(self) -> None:
        plan = make_plan([replace(BASE, held=100), replace(ETHEREUM, symbol="DAI", target=40)])

        assert moved(plan) == []
        assert [short.missing for short in plan.shortages] == [40]

    @given(st.lists(st.tuples(UNITS, UNITS, UNITS), min_size=1, max_size=5))
    def test_never_moves_liabilities_or_more_than_the_shortage(
        self, amounts: list[tuple[int, int, int]]
    ) -> None:
        holdings = [
            replace(BASE, network=f"N{n}", held=held, owed=owed, target=target)
            for n, (held, owed, target) in enumerate(amounts)
        ]
        plan = make_plan(holdings)

        for one in holdings:
            left = sum(move.source_units for move in plan.moves if move.source is one)
            came = sum(move.destination_units for move in plan.moves if move.destination is one)
            assert left <= max(0, one.surplus)
            assert came <= max(0, -one.surplus)
        missing = sum(max(0, -one.surplus) for one in holdings)
        surplus = sum(max(0, one.surplus) for one in holdings)
        assert sum(short.missing for short in plan.shortages) == max(0, missing - surplus)


class TestGas:
    def test_is_topped_up_to_the_number_of_payouts(self) -> None:
        tank = GasTank("BASE", "0x1", balance=500, cost_per_payout=10)

        assert (tank.top_up(100), tank.top_up(50), tank.top_up(10)) == (500, 0, 0)


class TestATarget:
    def test_is_the_chosen_one_else_the_tightest_cap(self) -> None:
        assert free_target(caps_per_window=[5, 3], chosen=None) == 3
        assert free_target(caps_per_window=[5], chosen=0) == 0
        assert free_target(caps_per_window=[], chosen=None) == 0


class TestCallData:
    def test_has_the_selectors_of_the_functions(self) -> None:
        for function, selector in SELECTORS.items():
            assert keccak(text=function)[:4].hex() == selector

    def test_matches_the_abi_encoding(self) -> None:
        arguments = (BASE.token, BASE.treasury, 77)
        types = ["address", "address", "uint256"]

        data = encode_call("withdraw(address,address,uint256)", *arguments)

        assert data == "0xd9caed12" + encode(types, arguments).hex()

    @pytest.mark.parametrize(
        "text",
        [
            *("funder", "", "0x", "0x" + "a" * 39, "0x" + "a" * 41, "0x" + "g" * 40),
            *("a" * 40, "0X" + "a" * 40, "0x" + "a" * 40 + "\n", "0x" + "\u0661" * 40),
        ],
    )
    def test_is_refused_for_a_malformed_address(self, text: str) -> None:
        with pytest.raises(WrongAddress, match="is not an address"):
            encode_call("transfer(address,uint256)", text, 1)

    @given(ADDRESS_BYTES)
    def test_is_the_same_for_each_valid_case_of_an_address(self, raw: bytes) -> None:
        address = to_checksum_address(raw)
        upper = "0x" + address[2:].upper()

        words = {
            encode_call("transfer(address,uint256)", text, 1)
            for text in (address, address.lower(), upper)
        }

        assert words == {"0xa9059cbb" + encode(["address", "uint256"], [address, 1]).hex()}

    def test_is_refused_for_a_wrong_checksum(self) -> None:
        address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"  # the first of EIP-55

        assert encode_call("transfer(address,uint256)", address, 1)
        with pytest.raises(WrongAddress, match="wrong checksum"):
            encode_call("transfer(address,uint256)", address.replace("5aA", "5AA"), 1)

    @pytest.mark.parametrize("number", [-1, 1 << 256])
    def test_is_refused_outside_uint256(self, number: int) -> None:
        with pytest.raises(ValueError, match="not a uint256"):
            encode_call("transfer(address,uint256)", BASE.treasury, number)
