"""Deposits in bundles of user operations (ERC-4337) on a real node, with the owner of each memo.

W20: a transfer by a wallet with code. W21: one that fails, or is only in call data.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from eth_abi.abi import encode
from eth_utils.abi import function_signature_to_4byte_selector

from swap_chains.events import NativeReceived, TokenTransfer
from swap_chains.evm import codec
from swap_chains.evm.deploy import Deployer
from swap_chains.evm.memos import encode_memo
from swap_chains.evm.rpc import Rpc, open_session
from swap_chains.evm.wallet_calls import ENTRY_POINTS
from swap_chains.ports import Call

from .conftest import ARTIFACTS, EXTERNAL_ACCOUNT, FUNDS, OWNER_KEY, Addresses, ChainHarness

pytestmark = pytest.mark.connected

MINE, THEIRS = encode_memo(7), encode_memo(8)
ENTRY_POINT = codec.checksum_address(min(ENTRY_POINTS))
REPLAYER = codec.checksum_address("0x" + "4e" * 20)
OPERATION = "(address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)"
TRANSFER_FROM = codec.selector("transferFrom(address,address,uint256)")
GAS = 1_500_000


def bundle(*operations: tuple[str, Call]) -> bytes:
    """Encode the operations as the call data of an EntryPoint: bytes within bytes."""
    packed_operations = [
        (wallet, 0, b"", call.data, bytes(32), 0, bytes(32), b"", b"s" * 65)
        for wallet, call in operations
    ]
    name = function_signature_to_4byte_selector(f"handleOps({OPERATION}[],address)")
    return name + encode([f"{OPERATION}[]", "address"], [packed_operations, ENTRY_POINT])


def to_entry_point(*operations: tuple[str, Call]) -> Call:
    return Call(ENTRY_POINT, 0, bundle(*operations), GAS)


@pytest.fixture(scope="session")
def wallets(anvil_url: str, contracts: Addresses) -> tuple[str, str]:
    """Return two wallets with tokens; install an EntryPoint at its usual address."""
    return asyncio.run(_deploy_wallets(anvil_url, contracts))


async def _deploy_wallets(url: str, contracts: Addresses) -> tuple[str, str]:
    _, _, token, wallet, _ = contracts
    async with Deployer(url, OWNER_KEY) as deployer, open_session() as session:
        ask = Rpc.to_urls("ETHEREUM_DEVNET", [url], session).nodes[0].call
        deployed = await deployer.deploy(ARTIFACTS / "DevEntryPoint.json")
        code = await ask("eth_getCode", deployed, "latest")
        await ask("anvil_setCode", ENTRY_POINT, code)
        other = await deployer.deploy(ARTIFACTS / "DevWallet.json")
        for owner in (wallet, other):
            await deployer.transact(ARTIFACTS / "DevToken.json", token, "mint", owner, FUNDS)
    return wallet, other


@pytest_asyncio.fixture
async def ask(anvil_url: str) -> AsyncIterator[Any]:
    async with open_session() as session:
        yield Rpc.to_urls("ETHEREUM_DEVNET", [anvil_url], session).nodes[0].call


def through(wallet: str, *calls: Call) -> tuple[str, Call]:
    """Return a wallet's operation that makes all of these calls or reverts."""
    batch = encode(["(address,uint256,bytes)[]"], [[(c.to, c.value, c.data) for c in calls]])
    data = codec.selector("executeBatch((address,uint256,bytes)[])") + batch
    return wallet, Call(wallet, 0, data, GAS)


def pulled(chain: ChainHarness, owner: str, base_units: int) -> Call:
    words = map(codec.address_word, (owner, chain.treasury))
    data = TRANSFER_FROM + b"".join(words) + codec.uint_word(base_units)
    return Call(chain.token, 0, data, 100_000)


async def reported_movements(chain: ChainHarness, call: Call) -> list[tuple[str, int, bytes]]:
    start = await chain.reader.head()
    await chain.send_and_mine(chain.user, call)
    moved = await chain.movements_after(start)
    assert all(isinstance(m, TokenTransfer | NativeReceived) for m in moved)
    return [(m.from_address, m.base_units, m.memo) for m in moved]


@pytest.mark.fault("W20")
async def test_w20_two_wallets_of_one_bundle_have_the_memo_that_each_signed(anvil, wallets):
    mine, theirs = wallets
    call = to_entry_point(
        through(mine, anvil.transfer(anvil.treasury, 5, MINE)),
        through(theirs, anvil.transfer(anvil.treasury, 5, THEIRS)),
    )

    assert await reported_movements(anvil, call) == [(mine, 5, MINE), (theirs, 5, THEIRS)]


@pytest.mark.fault("W20")
async def test_w20_coins_of_a_bundle_have_theirs_too(anvil, wallets):
    mine, theirs = wallets
    await anvil.send_and_mine(anvil.user, *(Call(w, 100, b"", 50_000) for w in wallets))
    call = to_entry_point(
        through(mine, anvil.send_native(5, MINE)),
        through(theirs, anvil.send_native(5, THEIRS)),
    )

    assert await reported_movements(anvil, call) == [(mine, 5, MINE), (theirs, 5, THEIRS)]


@pytest.mark.fault("W21")
async def test_w21_an_operation_that_fails_leaves_the_others_as_they_are(anvil, wallets):
    mine, theirs = wallets
    fails = anvil.transfer(codec.ZERO_ADDRESS, 5)
    call = to_entry_point(
        through(mine, anvil.transfer(anvil.treasury, 5, MINE), fails),
        through(theirs, anvil.transfer(anvil.treasury, 5, THEIRS)),
    )

    assert await reported_movements(anvil, call) == [(theirs, 5, THEIRS)]


@pytest.mark.fault("W21")
async def test_w21_the_memo_of_an_operation_that_fails_takes_no_transfer_of_anothers(
    anvil, wallets
):
    """The thief's operation reverts; the other wallet's moves the same amount in another form."""
    other_owner, owner = wallets
    allowed = Call(anvil.token, 0, codec.encode_approve(owner, 5), 100_000)
    fails = anvil.transfer(codec.ZERO_ADDRESS, 5)
    call = to_entry_point(
        through(other_owner, anvil.transfer(anvil.treasury, 5, MINE), fails),
        through(owner, allowed, pulled(anvil, owner, 5)),
    )

    assert await reported_movements(anvil, call) == [(owner, 5, b"")]


async def test_a_transfer_pulled_from_the_caller_of_another_contract_has_no_memo(anvil, wallets):
    """Memos in another contract's call data prove nothing about the tokens that it pulls."""
    wallet, _ = wallets
    allowed = Call(anvil.token, 0, codec.encode_approve(wallet, 5), 100_000)
    await anvil.send_and_mine(anvil.user, allowed)
    words = Call(EXTERNAL_ACCOUNT, 0, anvil.transfer(anvil.treasury, 5, MINE).data, 0)

    call = anvil.through_wallet(pulled(anvil, anvil.user.address, 5), words)

    assert await reported_movements(anvil, call) == [(anvil.user.address, 5, b"")]


async def test_a_bundle_within_an_unknown_contract_has_no_sender(anvil, wallets, ask):
    """It could hide a wallet's real operation elsewhere, and present another one's memo here."""
    _, owner = wallets
    real = bundle(through(owner, anvil.transfer(anvil.treasury, 5, THEIRS)))
    unexecuted_bundle = bundle(through(owner, anvil.transfer(anvil.treasury, 5, MINE)))
    await ask("anvil_setCode", REPLAYER, "0x" + replaying(real).hex())

    assert await reported_movements(anvil, Call(REPLAYER, 0, unexecuted_bundle, GAS)) == [
        (owner, 5, b"")
    ]


def replaying(data: bytes) -> bytes:
    """Return code that calls the EntryPoint with stored call data, for any call."""
    size, start, success = len(data).to_bytes(2).hex(), "002c", "2a"
    copies = f"61{size}61{start}5f39"
    calls = f"5f5f61{size}5f5f73{ENTRY_POINT[2:]}5af1"
    return bytes.fromhex(f"{copies}{calls}60{success}57fe5b00") + data
