"""One harness for two chains: the fake and anvil. Expectations in the tests are written by hand."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio
from eth_abi.abi import encode
from eth_account import Account

from libs.chains.tests.following import follow
from swap_chains.events import Block, BlockAdded, ChainEvent, Movement
from swap_chains.evm import codec
from swap_chains.evm.codec import ZERO_ADDRESS, Payment
from swap_chains.evm.deploy import Deployer, deploy_contracts, deploy_factory
from swap_chains.evm.deposit_addresses import INIT_CODE_HASH, Sweep, deposit_address, encode_sweep
from swap_chains.evm.follower import Pace
from swap_chains.evm.memos import encode_transfer_with_memo
from swap_chains.evm.reader import EvmReader
from swap_chains.evm.rpc import Rpc, open_session
from swap_chains.evm.sender import EvmSender
from swap_chains.evm.wallet_calls import MULTI_SEND, SAFE_EXECUTE
from swap_chains.fake import FakeChain, FakeReader, FakeSender
from swap_chains.fake.execution import INIT_CODE_HASH as FAKE_INIT_CODE_HASH
from swap_chains.ports import Call, ChainReader, ChainSender, Fees, SignedTransaction
from tests.plugins.processes import free_port

EVM = Path(__file__).parents[4] / "evm"
ANVIL = EVM / "node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil"
ARTIFACTS = EVM / "artifacts"
PATIENCE = 10.0
GWEI = 10**9
# The first development keys, which are public.
OWNER_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
OPERATOR_KEY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
USER_KEY = "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a"
EXTERNAL_ACCOUNT = codec.checksum_address("0x" + "5a" * 20)
FUNDS = 10**24
KINDS = ("d1", "7e", "70", "3a", "fa")  # of the fake's contracts
MULTI_SEND_ADDRESS = codec.checksum_address("0x9641d764fc13c8b624c04430c7356c1c7c8102e2")
SAFE_TYPES = (
    *("address", "uint256", "bytes", "uint8", "uint256"),
    *("uint256", "uint256", "address", "address", "bytes"),
)
Addresses = tuple[str, str, str, str, str]  # depository, treasury, token, wallet, factory


def packed_call(call: Call) -> bytes:
    words = codec.uint_word(call.value) + codec.uint_word(len(call.data))
    return bytes.fromhex(call.to[2:]) + words + call.data


def encode_safe_order(*calls: Call) -> bytes:
    """Encode the arguments of a Safe: one call, or several by its MultiSend."""
    order = (calls[0].to, calls[0].value, calls[0].data, 0)
    if len(calls) > 1:
        packed = b"".join(bytes(1) + packed_call(call) for call in calls)
        order = (MULTI_SEND_ADDRESS, 0, MULTI_SEND + encode(["bytes"], [packed]), 1)
    signature = b"s" * 65
    arguments = (*order, 0, 0, 0, ZERO_ADDRESS, ZERO_ADDRESS, signature)
    return SAFE_EXECUTE + encode(SAFE_TYPES, arguments)


@dataclass
class ChainHarness:
    """The actions of the suite on either chain."""

    reader: ChainReader
    operator: ChainSender
    user: ChainSender
    owner: ChainSender  # of the Treasury
    depository: str
    treasury: str
    token: str
    wallet: str
    factory: str
    init_code_hash: str
    watched: set[str]
    mine: Callable[[int], Awaitable[None]]
    reorg: Callable[[int, Sequence[tuple[SignedTransaction, int]]], Awaitable[None]]
    drop: Callable[[SignedTransaction], Awaitable[None]]
    fees: Fees = field(default_factory=lambda: Fees(100 * GWEI, GWEI))

    def deposit_native(self, number: int, base_units: int) -> Call:
        data = codec.encode_deposit_native(codec.depository_id(number), self.treasury)
        return Call(self.depository, base_units, data, 300_000)

    def deposit_token(self, number: int, base_units: int) -> Call:
        key = codec.depository_id(number)
        data = codec.encode_deposit_erc20(key, self.token, self.treasury, base_units)
        return Call(self.depository, 0, data, 300_000)

    def withdraw(self, token: str, to_address: str, base_units: int) -> Call:
        words = (*map(codec.address_word, (token, to_address)), codec.uint_word(base_units))
        data = codec.selector("withdraw(address,address,uint256)") + b"".join(words)
        return Call(self.treasury, 0, data, 200_000)

    def transfer(self, to_address: str, base_units: int, memo: bytes = b"") -> Call:
        data = encode_transfer_with_memo(to_address, base_units, memo)
        return Call(self.token, 0, data, 200_000)

    def approve_depository(self, base_units: int) -> Call:
        return Call(self.token, 0, codec.encode_approve(self.depository, base_units), 100_000)

    def through_wallet(self, *calls: Call) -> Call:
        """Make the calls by a wallet with a Safe's interface, with their total value."""
        value = sum(call.value for call in calls)
        data = encode_safe_order(*calls)
        return Call(self.wallet, value, data, 600_000)

    def through_unlisted_form(self, *calls: Call) -> Call:
        """Make the calls by a wallet in a form that no list of wallets contains."""
        packed = b"".join(map(packed_call, calls))
        words = codec.uint_word(codec.WORD) + codec.uint_word(len(packed))
        data = codec.selector("execute(bytes)") + words + packed
        return Call(self.wallet, sum(call.value for call in calls), data, 600_000)

    def address_of(self, number: int) -> str:
        return deposit_address(self.factory, self.init_code_hash, number)

    def watch_address_of(self, number: int) -> str:
        address = self.address_of(number)
        self.watched.add(address.lower())
        return address

    def sweep(self, *sweeps: Sweep) -> Call:
        return Call(self.factory, 0, encode_sweep(sweeps), 1_000_000)

    def send_native(self, base_units: int, memo: bytes = b"") -> Call:
        return Call(self.treasury, base_units, memo, 200_000)

    def pay(self, *payments: Payment) -> Call:
        one = len(payments) == 1
        data = codec.encode_pay(payments[0]) if one else codec.encode_pay_batch(payments)
        return Call(self.treasury, 0, data, 600_000)

    def native_payment(self, intent: int, base_units: int, to: str = EXTERNAL_ACCOUNT) -> Payment:
        return Payment(intent, ZERO_ADDRESS, to, base_units)

    async def sign(
        self, sender: ChainSender, call: Call, *, fees: Fees | None = None
    ) -> SignedTransaction:
        nonce = await self.reader.pending_nonce(sender.address)
        return await sender.sign(call, nonce=nonce, fees=fees or self.fees)

    async def send(self, sender: ChainSender, *calls: Call) -> list[SignedTransaction]:
        """Sign and broadcast consecutive calls, and leave them pending."""
        sent = []
        for call in calls:
            sent.append(await self.sign(sender, call))
            (outcome,) = await sender.broadcast(sent[-1:])
            assert outcome.is_held_by_a_node, outcome
        return sent

    async def send_and_mine(self, sender: ChainSender, *calls: Call) -> list[SignedTransaction]:
        sent = await self.send(sender, *calls)
        await self.mine(1)
        return sent

    async def until(
        self,
        is_enough: Callable[[list[ChainEvent]], bool],
        *,
        after: Block,
        recent: Sequence[Block] = (),
    ) -> list[ChainEvent]:
        """Follow from a block until the facts so far meet the condition."""
        seen: list[ChainEvent] = []
        async with (
            asyncio.timeout(PATIENCE),
            aclosing(follow(self.reader, after=after, recent=recent)) as events,
        ):
            async for event in events:
                seen.append(event)
                if is_enough(seen):
                    break
        return seen

    async def blocks_until_head(
        self, *, after: Block, recent: Sequence[Block] = ()
    ) -> list[BlockAdded]:
        head = await self.reader.head()
        events = await self.until(
            lambda seen: any(isinstance(e, BlockAdded) and e.block == head for e in seen),
            after=after,
            recent=recent,
        )
        return [event for event in events if isinstance(event, BlockAdded)]

    async def movements_after(self, block: Block) -> list[Movement]:
        added = await self.blocks_until_head(after=block)
        return [movement for event in added for movement in event.movements]


def make_fake() -> ChainHarness:
    addresses = [codec.checksum_address("0x" + digits * 20) for digits in KINDS]
    depository, treasury, token, wallet, factory = addresses
    names = ("0b", "05", "0d")
    operator, user, owner = (codec.checksum_address("0x" + digits * 20) for digits in names)
    chain = FakeChain(
        "FAKE_DEVNET",
        depository=depository,
        treasury=treasury,
        decimals={token: 6},
        wallets=[wallet],
        factory=factory,
    )
    for account in (treasury, user, operator, wallet):
        for asset in (ZERO_ADDRESS, token):
            chain.give(account, asset, FUNDS)
    chain.authorize(operator)
    chain.own(owner)
    chain.mine(3)
    watched: set[str] = set()

    async def mine(count: int) -> None:
        chain.mine(count)

    async def reorg(depth: int, reincluded: Sequence[tuple[SignedTransaction, int]]) -> None:
        chain.reorg(depth, reincluded)

    async def drop(transaction: SignedTransaction) -> None:
        chain.drop(transaction.transaction_hash)

    return ChainHarness(
        reader=FakeReader(chain, watched),
        operator=FakeSender(chain, operator),
        user=FakeSender(chain, user),
        owner=FakeSender(chain, owner),
        depository=depository,
        treasury=treasury,
        token=token,
        wallet=wallet,
        factory=factory,
        init_code_hash=FAKE_INIT_CODE_HASH,
        watched=watched,
        mine=mine,
        reorg=reorg,
        drop=drop,
    )


@pytest.fixture(scope="session")
def anvil_url() -> Iterator[str]:
    """Start anvil itself, not its wrapper, and stop only this child."""
    port = free_port()
    child = subprocess.Popen(
        [ANVIL, "--port", str(port), "--slots-in-an-epoch", "1", "--silent"],
        stdout=subprocess.DEVNULL,
    )
    try:
        asyncio.run(_ready(child, port))
        yield f"http://127.0.0.1:{port}"
        assert child.poll() is None, "anvil died"
    finally:
        child.kill()
        child.wait()


async def _ready(child: subprocess.Popen[bytes], port: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            assert child.poll() is None, "anvil did not start"
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.02)
            else:
                writer.close()
                return


@pytest.fixture(scope="session")
def contracts(anvil_url: str) -> Addresses:
    """Deploy once."""
    return asyncio.run(_deploy(anvil_url))


async def _deploy(url: str) -> Addresses:
    async with Deployer(url, OWNER_KEY) as deployer:
        operator = Account.from_key(OPERATOR_KEY).address
        depository, treasury = await deploy_contracts(deployer, ARTIFACTS, operators=[operator])
        user = Account.from_key(USER_KEY).address
        dev_token = ARTIFACTS / "DevToken.json"
        token = await deployer.deploy(dev_token, "USD Coin", "USDC", 6, user, FUNDS)
        await deployer.transact(dev_token, token, "mint", treasury, FUNDS)
        for asset in (ZERO_ADDRESS, token):
            await deployer.transact(
                ARTIFACTS / "Treasury.json", treasury, "setOutflowLimit", asset, 2**256 - 1, 0
            )
        wallet = await deployer.deploy(ARTIFACTS / "DevWallet.json")
        await deployer.transact(dev_token, token, "mint", wallet, FUNDS)
        await deployer.send_native(treasury, 10**20)
        factory = await deploy_factory(deployer, ARTIFACTS, treasury)
        multi_send = await deployer.deploy(ARTIFACTS / "DevMultiSend.json")
    await _copy_code(url, multi_send, MULTI_SEND_ADDRESS)
    return depository, treasury, token, wallet, factory


async def _copy_code(url: str, from_address: str, to_address: str) -> None:
    async with open_session() as session:
        ask = Rpc.to_urls("ETHEREUM_DEVNET", [url], session).nodes[0].call
        await ask("anvil_setCode", to_address, await ask("eth_getCode", from_address, "latest"))


@pytest.fixture(scope="session")
def copied_depository(anvil_url: str, contracts: Addresses) -> str:
    """A Depository outside the catalogue that pays our Treasury."""
    return asyncio.run(_deploy_copy(anvil_url, contracts[1]))


async def _deploy_copy(url: str, treasury: str) -> str:
    async with Deployer(url, OWNER_KEY) as deployer:
        artifact = ARTIFACTS / "Depository.json"
        return await deployer.deploy(artifact, deployer.address, [treasury])


@pytest_asyncio.fixture
async def anvil(anvil_url: str, contracts: Addresses) -> AsyncIterator[ChainHarness]:
    depository, treasury, token, wallet, factory = contracts
    watched: set[str] = set()
    async with open_session() as session:
        rpc = Rpc.to_urls("ETHEREUM_DEVNET", [anvil_url], session, timeout_seconds=30)
        reader = EvmReader(
            rpc,
            depository=depository,
            treasury=treasury,
            tokens=[token],
            factory=factory,
            watched=watched,
            pace=Pace(poll_seconds=0.02),
            has_blooms=True,
        )
        # Calls that change the chain are not retried, because a retry would mine twice.
        ask = rpc.nodes[0].call
        await ask("evm_setAutomine", False)

        question = {"to": factory, "data": "0x" + INIT_CODE_HASH.hex()}
        init_code_hash = str(await ask("eth_call", question, "latest"))

        async def mine(count: int) -> None:
            await ask("anvil_mine", hex(count))

        async def reorg(depth: int, reincluded: Sequence[tuple[SignedTransaction, int]]) -> None:
            pairs = [["0x" + t.raw.hex(), place] for t, place in reincluded]
            await ask("anvil_reorg", depth, pairs)

        async def drop(transaction: SignedTransaction) -> None:
            await ask("anvil_dropTransaction", transaction.transaction_hash)

        harness = ChainHarness(
            reader=reader,
            operator=EvmSender(rpc, chain_id=31337, private_key=OPERATOR_KEY),
            user=EvmSender(rpc, chain_id=31337, private_key=USER_KEY),
            owner=EvmSender(rpc, chain_id=31337, private_key=OWNER_KEY),
            depository=depository,
            treasury=treasury,
            token=token,
            wallet=wallet,
            factory=factory,
            init_code_hash=init_code_hash,
            watched=watched,
            mine=mine,
            reorg=reorg,
            drop=drop,
        )
        await harness.send_and_mine(harness.user, harness.approve_depository(FUNDS))
        await mine(3)
        yield harness
        await ask("anvil_dropAllTransactions")
        await ask("evm_setAutomine", True)


@pytest.fixture(params=["fake", pytest.param("anvil", marks=pytest.mark.connected)])
def chain(request: pytest.FixtureRequest) -> ChainHarness:
    if request.param == "fake":
        return make_fake()
    harness: ChainHarness = request.getfixturevalue("anvil")
    return harness
