"""No answer of a node counts before it has reported the right chain id."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from time import monotonic

import pytest
from aiohttp import web

import swap_chains.evm.rpc
from libs.chains.tests.following import follow
from swap_chains.errors import ChainUnavailable, WrongChain
from swap_chains.events import BlockAdded
from swap_chains.evm import codec
from swap_chains.evm.blocks import to_block
from swap_chains.evm.check import check_chain_id
from swap_chains.evm.follower import Pace
from swap_chains.evm.reader import EvmReader
from swap_chains.evm.rpc import VERIFIED_SECONDS, Node, Rpc
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


def answering(status):
    async def stream(request):
        return web.Response(status=status)

    return stream


async def closing(request):
    request.transport.close()
    return web.Response()


async def hanging(request):
    await asyncio.sleep(1)
    return web.Response()


@pytest.mark.fault("S29")
async def test_a_node_of_another_chain_does_not_count(session, serve):
    wrong_node, ours = await serve(), await serve()
    wrong_node.change = of_chain(1)
    wrong_node.chain.grow(5)
    failures = []

    head = await rpc_of(session, wrong_node, ours, on_failure=failures.append).call(*HEAD)

    assert head["number"] == "0x0"
    assert set(wrong_node.methods) == {"eth_chainId"}
    assert "it serves chain 1, not 31337" in str(failures[0])


async def test_node_of_another_chain_does_not_count_in_a_shared_request(session, serve):
    wrong_node, ours = await serve(), await serve()
    wrong_node.change = of_chain(1)
    rpc = rpc_of(session, wrong_node, ours, coalesces_requests=True)

    heads = await asyncio.gather(*(rpc.call(*HEAD) for _ in range(20)))

    assert [head["number"] for head in heads] == ["0x0"] * 20
    assert wrong_node.methods == ["eth_chainId"]
    assert ours.methods.count("eth_chainId") == 1


async def test_the_chain_of_a_node_is_verified_again_after_a_while(session, serve, monkeypatch):
    node = await serve()
    rpc = rpc_of(session, node)

    for _ in range(3):
        await rpc.call(*HEAD)
    assert node.methods.count("eth_chainId") == 1

    monkeypatch.setattr(swap_chains.evm.rpc, "monotonic", lambda: monotonic() + VERIFIED_SECONDS)
    node.change = of_chain(1)  # at the same URL, without a noticed change
    with pytest.raises(ChainUnavailable, match="it serves chain 1"):
        await rpc.call(*HEAD)


async def test_a_node_that_limits_requests_is_not_verified_again(session, serve):
    node = await serve()
    rpc = rpc_of(session, node)
    await rpc.call(*HEAD)
    node.stream = answering(429)
    with pytest.raises(ChainUnavailable, match="HTTP 429"):
        await rpc.call(*HEAD)

    node.stream = None
    await rpc.call(*HEAD)
    assert node.methods.count("eth_chainId") == 1


@pytest.mark.parametrize("gone", ["502", "closed", "slow"])
async def test_a_node_that_was_unavailable_is_verified_again(session, serve, gone):
    node = await serve()
    rpc = rpc_of(session, node, timeout_seconds=0.2)
    await rpc.call(*HEAD)
    node.stream = {"502": answering(502), "closed": closing, "slow": hanging}[gone]
    with pytest.raises(ChainUnavailable):
        await rpc.call(*HEAD)

    node.stream, node.change = None, of_chain(1)
    with pytest.raises(ChainUnavailable, match="it serves chain 1"):
        await rpc.call(*HEAD)

    node.change = of_chain(CHAIN)
    assert (await rpc.call(*HEAD))["number"] == "0x0"


@pytest.mark.parametrize("chain_id", [None, "many", {"code": -32601, "message": "no such method"}])
async def test_a_node_without_a_report_does_not_count(session, serve, chain_id):
    node = await serve()
    node.change = lambda method, params, answer: chain_id if method == "eth_chainId" else answer

    with pytest.raises(ChainUnavailable, match="it reports no chain id"):
        await rpc_of(session, node).call(*HEAD)


async def test_the_first_check_logs_which_node_is_wrong(session, serve):
    wrong_node, ours = await serve(), await serve()
    wrong_node.change = of_chain(1)

    with pytest.raises(WrongChain, match="serves chain 1, not 31337"):
        await check_chain_id(rpc_of(session, ours, wrong_node), CHAIN)


async def test_transactions_are_not_sent_to_another_chain(session, serve):
    wrong_node = await serve()
    wrong_node.change = of_chain(1)
    sender = EvmSender(rpc_of(session, wrong_node), chain_id=CHAIN, private_key="0x" + "4b" * 32)
    signed = await sender.sign(Call(TREASURY, 1, b"", 21_000), nonce=0, fees=Fees(30, 2))

    with pytest.raises(ChainUnavailable):
        await sender.broadcast([signed])
    with pytest.raises(ChainUnavailable):
        await sender.look_up([signed.transaction_hash])

    assert set(wrong_node.methods) == {"eth_chainId"}


async def next_number(events):
    while not isinstance(event := await anext(events), BlockAdded):
        pass
    return event.block.number


def reader_of(rpc):
    return EvmReader(rpc, depository=TREASURY, treasury=TREASURY, tokens=[], pace=PACE)


async def test_blocks_of_another_chain_are_not_followed(session, serve):
    node = await serve()
    genesis = to_block(Node("http://any", None), node.chain.blocks[0])
    node.chain.grow(1)
    node.change = of_chain(1)

    async with aclosing(follow(reader_of(rpc_of(session, node)), after=genesis)) as events:
        coming = asyncio.ensure_future(next_number(events))
        done, _ = await asyncio.wait([coming], timeout=0.2)
        assert not done
        assert set(node.methods) == {"eth_chainId"}

        node.change = of_chain(CHAIN)
        assert await asyncio.wait_for(coming, 5) == 1


async def test_a_followed_node_that_becomes_another_is_left(session, serve):
    node = await serve()
    other = await serve(node.chain)
    genesis = to_block(Node("http://any", None), node.chain.blocks[0])
    rpc = rpc_of(session, node, other)

    async with (
        asyncio.timeout(5),
        aclosing(follow(reader_of(rpc), after=genesis)) as events,
    ):
        node.chain.grow(1)
        assert await next_number(events) == 1
        node.stream = closing
        node.chain.grow(1)
        assert await next_number(events) == 2
        node.stream, node.change = None, of_chain(1)
        rpc.prefer_next_node()
        node.chain.grow(1)
        assert await next_number(events) == 3

    assert rpc.in_use is rpc.nodes[1]
