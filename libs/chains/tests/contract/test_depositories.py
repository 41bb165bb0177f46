"""Whether a Depository accepts deposits now, as a real node reports it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio
from eth_account import Account

from swap_chains.errors import ChainUnavailable
from swap_chains.evm.codec import address_word, selector
from swap_chains.evm.deploy import Deployer, deploy_contracts
from swap_chains.evm.depositories import IS_NOT_LISTED, IS_PAUSED, depository_findings
from swap_chains.evm.rpc import Rpc, open_session

from .conftest import ARTIFACTS, EXTERNAL_ACCOUNT, OWNER_KEY

pytestmark = pytest.mark.connected

CHAIN_ID = 31337
OWNER = str(Account.from_key(OWNER_KEY).address)
UNREACHABLE_URL = "http://127.0.0.1:1"


@dataclass
class World:
    """A separate Depository; its owner sends the transactions of a test."""

    rpc: Rpc
    ask: Any
    depository: str
    treasury: str

    async def do(self, call: bytes) -> None:
        """Make the owner's call of the Depository, and wait until a block has it."""
        fields = {"from": OWNER, "to": self.depository, "data": "0x" + call.hex()}
        sent = await self.ask("eth_sendTransaction", fields)
        while (receipt := await self.ask("eth_getTransactionReceipt", sent)) is None:
            await self.ask("evm_mine")
        assert receipt["status"] == "0x1"

    async def found(self, **changes: Any) -> Sequence[str]:
        expected = {
            "chain_id": CHAIN_ID,
            "depository": self.depository,
            "treasury": self.treasury,
            **changes,
        }
        return await depository_findings(expected.pop("rpc", self.rpc), **expected)


@pytest_asyncio.fixture
async def world(anvil_url: str) -> AsyncIterator[World]:
    async with Deployer(anvil_url, OWNER_KEY) as deployer:
        depository, treasury = await deploy_contracts(deployer, ARTIFACTS, operators=[])
    async with open_session() as session:
        # The first is down, so that every answer comes from the next one.
        urls = [UNREACHABLE_URL, anvil_url]
        rpc = Rpc.to_urls("ETHEREUM_DEVNET", urls, session, timeout_seconds=30, rounds=1)
        yield World(rpc, rpc.nodes[1].call, depository, treasury)


def remove(receiver: str) -> bytes:
    return selector("removeFromWhitelist(address)") + address_word(receiver)


def add(receiver: str) -> bytes:
    return selector("addToWhitelist(address)") + address_word(receiver)


@pytest.mark.fault("G18")
async def test_g18_a_depository_is_closed_while_it_is_paused(world: World) -> None:
    assert await world.found() == []

    await world.do(selector("pause()"))
    assert await world.found() == [IS_PAUSED]

    await world.do(selector("unpause()"))
    assert await world.found() == []


@pytest.mark.fault("G17")
async def test_g17_a_depository_is_closed_while_it_does_not_list_the_treasury(
    world: World,
) -> None:
    await world.do(remove(world.treasury))
    assert await world.found() == [IS_NOT_LISTED]

    await world.do(selector("pause()"))
    assert await world.found() == [IS_PAUSED, IS_NOT_LISTED]

    await world.do(selector("unpause()"))
    await world.do(add(world.treasury))
    assert await world.found() == []


class TestWhatIsNoAnswer:
    @pytest.mark.fault("G17")
    async def test_g17_the_report_of_another_chain_is_rejected(self, world: World) -> None:
        await world.do(selector("pause()"))

        with pytest.raises(ChainUnavailable, match="serves chain 31337"):
            await world.found(chain_id=CHAIN_ID + 1)

    @pytest.mark.fault("G17")
    async def test_g17_address_without_code_is_no_answer(self, world: World) -> None:
        with pytest.raises(ChainUnavailable, match="nothing of"):
            await world.found(depository=EXTERNAL_ACCOUNT)

    @pytest.mark.fault("G17")
    async def test_g17_reverting_contract_is_no_answer(self, world: World) -> None:
        with pytest.raises(ChainUnavailable, match="nothing of"):
            await world.found(depository=world.treasury)

    @pytest.mark.fault("G17")
    async def test_g17_unavailable_node_is_no_answer(self, world: World) -> None:
        async with open_session() as session:
            away = Rpc.to_urls("ETHEREUM_DEVNET", [UNREACHABLE_URL], session, rounds=1)

            with pytest.raises(ChainUnavailable):
                await world.found(rpc=away)
