"""The settler's lane on a real node: anvil with our contracts, and a payment that was sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account

from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.lane_harness import DESTINATION, World
from swap_chains.evm.deploy import Deployer, deploy_contracts
from swap_chains.evm.keys import LocalKey
from swap_chains.evm.reader import EvmReader
from swap_chains.evm.rpc import Rpc, open_session
from swap_chains.evm.sender import EvmSender
from swap_chains.ports import Call, Fees, Holding, SignedTransaction
from swap_domain.catalogue import NATIVE, Catalogue
from swap_settler.paying.usecases.close_slots import ROUNDS_UNEXPLAINED_MAX
from tests.plugins.processes import Program, accepts, free_port

EVM = Path(__file__).parents[4] / "evm"
ANVIL = EVM / "node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil"
ARTIFACTS = EVM / "artifacts"
CHAIN_ID = 31338
# The first development keys, which are public.
OWNER_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
SIGNER_KEY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
LIMIT = 5 * 10**18


@dataclass
class OnAnvil:
    world: World
    reader: EvmReader
    ask: Callable[..., Awaitable[Any]]

    async def mine(self, count: int = 1) -> None:
        await self.ask("anvil_mine", hex(count))

    async def use_nonce_externally(self, call: Call) -> str:
        """Mine a transaction of our signer's key with the nonce of a payment in the pool."""
        world = self.world
        [ours] = await world.rows("SELECT transaction_hash FROM attempt")
        await self.ask("anvil_dropTransaction", ours.transaction_hash)
        external: SignedTransaction = await world.sender.sign(
            call, nonce=0, fees=Fees(10**12, 10**10)
        )
        await world.sender.broadcast([external])
        await self.mine()
        closing = world.closing()
        for _ in range(ROUNDS_UNEXPLAINED_MAX + 2):
            await self.mine()
            await closing(epoch=world.epoch)
        [signer] = await world.rows("SELECT halted_reason FROM signer")
        assert "used by no transaction of ours" in signer.halted_reason
        return external.transaction_hash

    @property
    def catalogue(self) -> Catalogue:
        """Return the catalogue of the world, with the Treasury on this node."""
        known = self.world.catalogue
        network = known.network(DESTINATION)
        contracts = replace(network.contracts, treasury=self.world.treasury)
        networks = {**known.networks, DESTINATION: replace(network, contracts=contracts)}
        return replace(known, networks=networks)

    async def balance_of(self, account: str) -> int:
        holding = Holding(account, NATIVE)
        return (await self.reader.balances([holding], at=await self.reader.final_block()))[holding]


@pytest.fixture
def node(tmp_path: Path) -> Iterator[str]:
    port = free_port()
    options = ["--port", str(port), "--chain-id", str(CHAIN_ID), "--slots-in-an-epoch", "1"]
    anvil = Program(
        [str(ANVIL), *options, "--silent"],
        log=tmp_path / "anvil.log",
        ready=lambda: accepts(port),
    )
    anvil.start()
    yield f"http://127.0.0.1:{port}"
    anvil.stop()


@pytest.fixture
async def anvil_world(node: str, migrate_schema: Callable[[str], str]) -> AsyncIterator[OnAnvil]:
    signer = Account.from_key(SIGNER_KEY).address
    async with Deployer(node, OWNER_KEY) as owner:
        depository, treasury = await deploy_contracts(owner, ARTIFACTS, operators=[signer])
        limit = ("setOutflowLimit", NATIVE, LIMIT, 24 * 3600)
        await owner.transact(ARTIFACTS / "Treasury.json", treasury, *limit)
        await owner.send_native(treasury, 10**20)
    opened = opened_world(migrate_schema("settler"), DESTINATION, signer=signer, treasury=treasury)
    async with open_session() as session, opened as world:
        rpc = Rpc.to_urls(DESTINATION, [node], session)
        reader = EvmReader(rpc, depository=depository, treasury=treasury, tokens=[NATIVE])
        world.reader = reader  # type: ignore[assignment]
        world.sender = EvmSender(  # type: ignore[assignment]
            rpc, chain_id=CHAIN_ID, key=LocalKey(SIGNER_KEY)
        )
        on_anvil = OnAnvil(world, reader, rpc.nodes[0].call)
        await on_anvil.ask("evm_setAutomine", False)
        await on_anvil.mine(3)
        await world.close_slots()  # the ledger has its gas money
        await world.confirmed_swaps(1)
        await world.send_everything()
        yield on_anvil
