"""Reading of a rollup's gas price oracle, on a real chain."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from libs.chains.tests.contract.conftest import ARTIFACTS, OWNER_KEY, Addresses
from swap_chains.errors import ChainUnavailable
from swap_chains.evm.deploy import Deployer
from swap_chains.evm.l1_data_fees import l1_data_fees
from swap_chains.evm.rpc import Rpc, open_session
from swap_domain.catalogue import L1DataFee

pytestmark = pytest.mark.connected
ORACLE = ARTIFACTS / "DevGasPriceOracle.json"


@pytest_asyncio.fixture
async def rpc(anvil_url: str) -> AsyncIterator[Rpc]:
    async with open_session() as session:
        yield Rpc.to_urls("BASE_DEVNET", [anvil_url], session, rounds=1)


async def an_oracle(url: str, fee_per_byte: int) -> L1DataFee:
    async with Deployer(url, OWNER_KEY) as deployer:
        oracle = await deployer.deploy(ORACLE)
        await deployer.transact(ORACLE, oracle, "set", fee_per_byte)
    return L1DataFee("op_stack", oracle, transaction_bytes=700, max_wei=10**15)


class TestUpperBound:
    @pytest.mark.parametrize("fee_per_byte", [0, 7, 10**12])
    @pytest.mark.fault("S26")
    async def test_s26_is_what_the_oracle_asks_for_so_many_bytes(
        self, anvil_url: str, rpc: Rpc, fee_per_byte: int
    ) -> None:
        oracle = await an_oracle(anvil_url, fee_per_byte)
        assert await l1_data_fees(rpc, oracle).upper_bound() == 700 * fee_per_byte

    @pytest.mark.fault("S26")
    async def test_s26_of_an_implausible_value_is_no_answer(self, anvil_url: str, rpc: Rpc) -> None:
        oracle = await an_oracle(anvil_url, 10**13)
        with pytest.raises(ChainUnavailable, match="L1 data fee"):
            await l1_data_fees(rpc, oracle).upper_bound()

    @pytest.mark.fault("S26")
    async def test_s26_of_what_is_no_oracle_is_no_answer(
        self, rpc: Rpc, contracts: Addresses
    ) -> None:
        for address in (contracts[0], "0x" + "00" * 19 + "0F"):
            l1_data_fee = L1DataFee("op_stack", address, transaction_bytes=700, max_wei=10**15)
            with pytest.raises(ChainUnavailable):
                await l1_data_fees(rpc, l1_data_fee).upper_bound()
