from __future__ import annotations

import pytest

from services.quoter.tests.factories import ETHEREUM, NOW, a_market
from swap_chains.errors import ChainUnavailable
from swap_chains.ports import Fees
from swap_quoter.adapters.chain_gas import ChainGas
from swap_quoter.domain.market import TimedValue
from swap_quoter.usecases.follow_gas import FollowGas


class Node:
    network = ETHEREUM

    def __init__(self, fees: Fees | None) -> None:
        self.suggestion = fees

    async def fees(self) -> Fees:
        if self.suggestion is None:
            raise ChainUnavailable(self.network)
        return self.suggestion


class DataFee:
    def __init__(self, fee: int | None) -> None:
        self.fee = fee

    async def upper_bound(self) -> int:
        if self.fee is None:
            raise ChainUnavailable(ETHEREUM)
        return self.fee


class TestFollowGas:
    async def test_dates_the_suggestion_with_the_time_of_the_request(self) -> None:
        market = a_market(gas={})

        await FollowGas(ChainGas(Node(Fees(7, 1))), market, clock=lambda: NOW)()

        assert market.gas == {ETHEREUM: TimedValue(7, NOW)}

    async def test_lets_the_known_cost_grow_old_while_no_node_answers(self) -> None:
        market = a_market(gas={ETHEREUM: 5})
        before = market.gas

        await FollowGas(ChainGas(Node(None)), market, clock=lambda: NOW)()

        assert market.gas == before

    async def test_has_asked_also_where_no_node_answers(self) -> None:
        follow = FollowGas(ChainGas(Node(None)), a_market(gas={}), clock=lambda: NOW)
        assert not follow.has_asked

        await follow()

        assert follow.has_asked

    @pytest.mark.fault("S26")
    async def test_s26_shares_a_rollups_fee_for_bytes_out_over_the_gas_rounded_up(self) -> None:
        market = a_market(gas={})
        gas = ChainGas(Node(Fees(7, 1)), DataFee(1000), units_min=300)

        await FollowGas(gas, market, clock=lambda: NOW)()

        assert market.gas == {ETHEREUM: TimedValue(7 + 4, NOW)}

    @pytest.mark.fault("S26")
    async def test_s26_has_no_cost_while_no_node_reports_the_fee_for_bytes(self) -> None:
        market = a_market(gas={})
        gas = ChainGas(Node(Fees(7, 1)), DataFee(None), units_min=300)

        await FollowGas(gas, market, clock=lambda: NOW)()

        assert market.gas == {}
