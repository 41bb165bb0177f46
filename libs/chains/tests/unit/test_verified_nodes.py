"""No answer of a node counts before it has said that it serves the right chain."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest
from aiohttp import web

from swap_chains.errors import ChainUnavailable, WrongChain
from swap_chains.events import BlockAdded
from swap_chains.evm import codec
from swap_chains.evm.blocks import to_block
from swap_chains.evm.check import check_chain_id
from swap_chains.evm.following import Pace
from swap_chains.evm.reader import EvmReader
from swap_chains.evm.rpc import Rpc
from swap_chains.evm.sender import EvmSender
from swap_chains.ports import Call, Fees

CHAIN = 31337
TREASURY = codec.checksum_address("0x" + "7e" * 20)
PACE = Pace(poll_seconds=0.005)
HEAD = ("eth_getBlockByNumber", "latest", False)


def of_chain(number):
    return lambda method, params, answer: hex(number) if method == "eth_chainId" else answer


def rpc_of(session, *nodes, **options):
    urls = [node.url for node in nodes]
    return Rpc.to_urls("TESTNET", urls, session, rounds=1, chain_id=CHAIN, **options)


async def away(request):
    return web.Response(status=502)


async def test_another_chains_node_has_no_say(session, serve):
    foreign, ours = await serve(), await serve()
    foreign.change = of_chain(1)
    foreign.chain.grow(5)
    heard = []

    head = await rpc_of(session, foreign, ours, on_failure=heard.append).call(*HEAD)

    assert head["number"] == "0x0"
    assert set(foreign.methods) == {"eth_chainId"}
    assert "it serves chain 1, not 31337" in str(heard[0])


async def test_a_node_is_asked_for_its_chain_once(session, serve):
    node = await serve()
    rpc = rpc_of(session, node)

    for _ in range(3):
        await rpc.call(*HEAD)

    assert node.methods.count("eth_chainId") == 1


async def test_a_node_that_was_away_may_come_back_as_another(session, serve):
    node = await serve()
    rpc = rpc_of(session, node)
    await rpc.call(*HEAD)
    node.stream = away
    with pytest.raises(ChainUnavailable):
        await rpc.call(*HEAD)

    node.stream, node.change = None, of_chain(1)
    with pytest.raises(ChainUnavailable, match="it serves chain 1"):
        await rpc.call(*HEAD)

    node.change = of_chain(CHAIN)
    assert (await rpc.call(*HEAD))["number"] == "0x0"


@pytest.mark.parametrize("said", [None, "many", {"code": -32601, "message": "no such method"}])
async def test_a_node_that_does_not_say_is_not_believed(session, serve, said):
    node = await serve()
    node.change = lambda method, params, answer: said if method == "eth_chainId" else answer

    with pytest.raises(ChainUnavailable, match="does not tell its chain"):
        await rpc_of(session, node).call(*HEAD)


async def test_the_first_check_says_loudly_which_node_is_wrong(session, serve):
    foreign, ours = await serve(), await serve()
    foreign.change = of_chain(1)

    with pytest.raises(WrongChain, match="serves chain 1, not 31337"):
        await check_chain_id(rpc_of(session, ours, foreign), CHAIN)


async def test_nothing_is_sent_to_another_chain(session, serve):
    foreign = await serve()
    foreign.change = of_chain(1)
    sender = EvmSender(rpc_of(session, foreign), chain_id=CHAIN, private_key="0x" + "4b" * 32)
    signed = await sender.sign(Call(TREASURY, 1, b"", 21_000), nonce=0, fees=Fees(30, 2))

    with pytest.raises(ChainUnavailable):
        await sender.broadcast([signed])

    assert set(foreign.methods) == {"eth_chainId"}


async def test_another_chains_blocks_are_not_followed(session, serve):
    node = await serve()
    genesis = to_block(None, node.chain.blocks[0])
    node.chain.grow(1)
    node.change = of_chain(1)
    reader = EvmReader(
        rpc_of(session, node), depository=TREASURY, treasury=TREASURY, tokens=[], pace=PACE
    )

    async with aclosing(reader.follow(after=genesis)) as events:
        coming = asyncio.ensure_future(anext(events))
        done, _ = await asyncio.wait([coming], timeout=0.2)
        assert not done
        assert set(node.methods) == {"eth_chainId"}

        node.change = of_chain(CHAIN)
        added = await asyncio.wait_for(coming, 5)

    assert isinstance(added, BlockAdded)
    assert added.block.number == 1
