"""S11 and A18 on a real node and a real database: our key, used beside us."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account

from services.settler.tests.integration.explaining import explaining, heard
from services.settler.tests.integration.lane_worlds import opened_world
from services.settler.tests.lane_world import (
    DESTINATION,
    PAYOUT,
    REQUESTED,
    World,
    a_recipient,
)
from swap_chains.evm.codec import Payment, encode_is_paid, encode_pay, encode_withdraw, selector
from swap_chains.evm.deploy import Deployer, deploy_contracts
from swap_chains.evm.keys import LocalKey
from swap_chains.evm.reader import EvmReader
from swap_chains.evm.rpc import Rpc, open_session
from swap_chains.evm.sender import EvmSender
from swap_chains.ports import Call, Fees, Holding, SignedTransaction
from swap_domain.catalogue import NATIVE, Catalogue
from swap_settler.usecases.close_slots import ROUNDS_UNEXPLAINED_MAX
from tests.plugins.processes import Program, accepts, free_port

pytestmark = [pytest.mark.connected, pytest.mark.timeout(120)]
EVM = Path(__file__).parents[4] / "evm"
ANVIL = EVM / "node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil"
ARTIFACTS = EVM / "artifacts"
CHAIN_ID = 31338
# The first development keys, known to everybody.
OWNER_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
SIGNER_KEY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
THIEF = a_recipient(66)
LIMIT = 5 * 10**18
SAID = {"by": "ann", "reason": "a transfer made by hand"}


@dataclass
class OnAnvil:
    world: World
    reader: EvmReader
    ask: Callable[..., Awaitable[Any]]

    async def mine(self, count: int = 1) -> None:
        await self.ask("anvil_mine", hex(count))

    async def robbed(self, call: Call) -> str:
        """Let a transaction of our key take the nonce of a payment that waits in the pool."""
        world = self.world
        [ours] = await world.rows("SELECT transaction_hash FROM attempt")
        await self.ask("anvil_dropTransaction", ours.transaction_hash)
        foreign: SignedTransaction = await world.sender.sign(
            call, nonce=0, fees=Fees(10**12, 10**10)
        )
        await world.sender.broadcast([foreign])
        await self.mine()
        closing = world.closing()
        for _ in range(ROUNDS_UNEXPLAINED_MAX + 2):
            await self.mine()
            await closing(epoch=world.epoch)
        [signer] = await world.rows("SELECT halted_reason FROM signer")
        assert "used by no transaction of ours" in signer.halted_reason
        return foreign.transaction_hash

    @property
    def catalogue(self) -> Catalogue:
        """Return the world's, with the Treasury that is here."""
        known = self.world.catalogue
        network = known.network(DESTINATION)
        contracts = replace(network.contracts, treasury=self.world.treasury)
        networks = {**known.networks, DESTINATION: replace(network, contracts=contracts)}
        return replace(known, networks=networks)

    async def held(self, account: str) -> int:
        holding = Holding(account, NATIVE)
        return (await self.reader.balances([holding], at=await self.reader.finalized()))[holding]


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
async def here(node: str, migrated: Callable[[str], str]) -> AsyncIterator[OnAnvil]:
    migrated("chain_watcher")
    signer = Account.from_key(SIGNER_KEY).address
    async with Deployer(node, OWNER_KEY) as owner:
        depository, treasury = await deploy_contracts(owner, ARTIFACTS, operators=[signer])
        limit = ("setOutflowLimit", NATIVE, LIMIT, 24 * 3600)
        await owner.transact(ARTIFACTS / "Treasury.json", treasury, *limit)
        await owner.send_native(treasury, 10**20)
    opened = opened_world(migrated("settler"), DESTINATION, signer=signer, treasury=treasury)
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


@pytest.mark.fault("S11")
async def test_s11_a_robbed_nonce_is_explained_and_its_payment_made_once(here: OnAnvil) -> None:
    world = here.world
    foreign = await here.robbed(Call(THIEF, 10**18, b"", 21_000))

    await world.resuming()(DESTINATION, used_by=[foreign], **SAID)
    await world.send_everything()
    await here.mine(4)
    await world.close_slots()

    assert await here.held(a_recipient(1)) == PAYOUT
    assert await world.store.signer_balance(NATIVE) == await here.held(world.signer)
    assert await world.rows("SELECT 1 FROM nonce_slot WHERE closed_at IS NULL") == []
    [lost] = await world.rows("SELECT balance FROM account WHERE kind = 'loss'")
    assert 10**18 < lost.balance < 10**18 + 10**16


@pytest.mark.fault("S11")
async def test_s11_what_our_key_has_paid_elsewhere_is_not_paid_again(here: OnAnvil) -> None:
    world = here.world
    [intent] = await world.rows("SELECT paid_id FROM intent")
    paid_id = int(intent.paid_id)
    payment = encode_pay(Payment(paid_id, NATIVE, a_recipient(1), PAYOUT))

    foreign = await here.robbed(Call(world.treasury, 0, payment, 300_000))
    told = await world.resuming()(DESTINATION, used_by=[foreign], **SAID)

    assert told.paid_elsewhere == [paid_id]
    assert await here.held(a_recipient(1)) == PAYOUT
    assert await world.intent_states() == ["broadcast"]
    # And whatever this ledger were made to believe, the Treasury takes an id once.
    head = await here.reader.head()
    asked = Call(world.treasury, 0, encode_is_paid(paid_id), 100_000)
    assert int.from_bytes(await here.reader.call(asked, sender=world.signer, at=head), "big")
    again = Call(world.treasury, 0, payment, 300_000)
    [answer] = await here.reader.simulate([again], sender=world.signer)
    assert answer.is_revert

    await heard(world, foreign, a_recipient(1))
    [ended] = await explaining(world, here.catalogue)(DESTINATION, foreign, **SAID)

    assert (ended.end, await world.intent_states()) == ("made", ["confirmed"])
    [swap] = await world.rows("SELECT status FROM swap")
    assert swap.status == "completed"


@pytest.mark.fault("S11")
async def test_s11_what_a_thief_had_our_id_spent_on_is_claimable(here: OnAnvil) -> None:
    world = here.world
    [intent] = await world.rows("SELECT paid_id FROM intent")
    theft = encode_pay(Payment(int(intent.paid_id), NATIVE, THIEF, PAYOUT))

    foreign = await here.robbed(Call(world.treasury, 0, theft, 300_000))
    await world.resuming()(DESTINATION, used_by=[foreign], **SAID)
    await heard(world, foreign, THIEF)
    [ended] = await explaining(world, here.catalogue)(DESTINATION, foreign, **SAID)

    assert (ended.end, await world.intent_states()) == ("failed", ["dead"])
    [owed] = await world.rows("SELECT balance FROM account WHERE kind = 'claimable'")
    assert owed.balance == -REQUESTED


@pytest.mark.fault("A18")
async def test_a18_what_a_stolen_key_signs_beyond_its_limits_the_treasury_refuses(
    here: OnAnvil,
) -> None:
    world = here.world
    await here.mine()
    [intent] = await world.rows("SELECT paid_id FROM intent")
    paid_id = int(intent.paid_id)
    arbitrary = {
        "AlreadyPaid(uint256)": encode_pay(Payment(paid_id, NATIVE, THIEF, 1)),
        "OutflowLimitExceeded(address,uint256,uint256)": encode_pay(
            Payment(paid_id ^ 1, NATIVE, THIEF, LIMIT)
        ),
        "OwnableUnauthorizedAccount(address)": encode_withdraw(NATIVE, THIEF, 1),
    }
    calls = [Call(world.treasury, 0, data, 300_000) for data in arbitrary.values()]

    answers = await here.reader.simulate(calls, sender=world.signer)
    signed = [
        await world.sender.sign(call, nonce=nonce, fees=Fees(10**12, 10**10))
        for nonce, call in enumerate(calls, start=1)
    ]
    await world.sender.broadcast(signed)
    await here.mine(4)

    assert [answer.data[:4] for answer in answers] == [selector(error) for error in arbitrary]
    assert await here.reader.nonce(world.signer, at=await here.reader.finalized()) == 4
    assert (await here.held(a_recipient(1)), await here.held(THIEF)) == (PAYOUT, 0)
