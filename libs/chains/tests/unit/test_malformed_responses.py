"""Malformed answers count as no answers, and cause no failure."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from libs.chains.tests.following import follow
from swap_chains.errors import ChainUnavailable, InconsistentAnswer, NodeRefused
from swap_chains.events import BlockAdded
from swap_chains.evm import codec
from swap_chains.evm.blocks import find_header, to_block
from swap_chains.evm.follower import Pace
from swap_chains.evm.gasless import RelayedDeposit
from swap_chains.evm.gasless_reader import GaslessReader
from swap_chains.evm.l1_data_fees import L1DataFees
from swap_chains.evm.price_feeds import EvmPriceFeeds
from swap_chains.evm.reader import EvmReader
from swap_chains.evm.rpc import Node, Rpc
from swap_domain.gasless import GaslessStandard, TokenDomain

DEPOSITORY = codec.checksum_address("0x" + "d1" * 20)
TREASURY = codec.checksum_address("0x" + "7e" * 20)
TOKEN = codec.checksum_address("0x" + "70" * 20)
KNOWN = "0x" + "a" * 64
INDEXING = {"code": -32000, "message": "transaction indexing is in progress"}


def reader_of(session, *nodes):
    rpc = Rpc.to_urls("TESTNET", [node.url for node in nodes], session, rounds=1)
    pace = Pace(poll_seconds=0.005)
    return EvmReader(rpc, depository=DEPOSITORY, treasury=TREASURY, tokens=[TOKEN], pace=pace)


def with_(method, **changes):
    """Change every mapping in the answers of a method."""

    def change(requested_method, params, answer):
        if requested_method != method:
            return answer
        many = answer if isinstance(answer, list) else [answer]
        changed = [{**one, **changes} if isinstance(one, dict) else one for one in many]
        return changed if isinstance(answer, list) else changed[0]

    return change


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(with_("eth_getBlockByNumber", timestamp=hex(10**18)), id="nanoseconds"),
        pytest.param(with_("eth_getBlockByNumber", timestamp=hex(10**13)), id="milliseconds"),
        pytest.param(with_("eth_getBlockByNumber", timestamp=hex(2**255)), id="the end of time"),
        pytest.param(with_("eth_getBlockByNumber", number=hex(2**300)), id="a number of 300 bits"),
        pytest.param(with_("eth_getBlockByNumber", number=hex(2**63)), id="a number of 64 bits"),
        pytest.param(with_("eth_getBlockByNumber", number=1), id="a number that is none"),
        pytest.param(with_("eth_getBlockByNumber", hash="0x\0"), id="a hash that is none"),
        pytest.param(with_("eth_getLogs", data="0x" + "0" * 65), id="half a byte of data"),
        pytest.param(with_("eth_getLogs", data="0x" + "zz" * 32), id="no data"),
        pytest.param(with_("eth_getLogs", data="0x"), id="empty data"),
        pytest.param(with_("eth_getLogs", topics=["0x1"]), id="a topic that is none"),
        pytest.param(with_("eth_getLogs", topics=[None]), id="no topic"),
        pytest.param(with_("eth_getLogs", transactionHash=7), id="a transaction that is none"),
        pytest.param(with_("eth_getLogs", logIndex=None), id="no index"),
        pytest.param(with_("eth_getTransactionByHash", to=7), id="a recipient that is none"),
        pytest.param(with_("eth_getTransactionByHash", input=None), id="no call data"),
    ],
)
async def test_follower_uses_another_node_after_a_malformed_response(session, serve, change):
    broken = await serve()
    correct_node = await serve(broken.chain)
    correct_node.chain.grow(1)
    correct_node.chain.add_transfer(1, 5)
    broken.change = change
    reader = reader_of(session, broken, correct_node)

    async with (
        asyncio.timeout(5),
        aclosing(
            follow(reader, after=to_block(Node("http://any", None), correct_node.chain.blocks[0]))
        ) as events,
    ):
        added = await anext(aiter(events))

    assert isinstance(added, BlockAdded)
    assert [movement.base_units for movement in added.movements] == [5]


async def test_a_block_of_another_number_is_not_the_one(session, serve):
    node = await serve()
    node.chain.grow(3)
    node.change = lambda method, params, answer: node.chain.blocks[3]

    with pytest.raises(InconsistentAnswer):
        await find_header(Node(node.url, session), 2)


@pytest.mark.parametrize("answer", ["0xzz", "0x0", 7, {}, None])
async def test_a_call_that_returned_no_bytes_is_no_price_and_no_fee(session, serve, answer):
    node = await serve()
    node.chain.answer = lambda method, params: answer
    rpc = Rpc.to_urls("TESTNET", [node.url], session, rounds=1)

    with pytest.raises(ChainUnavailable):
        await L1DataFees(rpc, oracle=TOKEN, transaction_bytes=1, max_wei=1).upper_bound()
    with pytest.raises(ChainUnavailable):
        await EvmPriceFeeds(rpc).latest([TOKEN])


async def test_a_token_that_no_node_asks_now_is_not_a_signer_without_money(session, serve):
    node = await serve()
    node.chain.answer = lambda method, params: {"code": -32000, "message": "header not found"}
    rpc = Rpc.to_urls("TESTNET", [node.url], session, rounds=1)
    relayed = RelayedDeposit(
        standard=GaslessStandard.EIP2612,
        domain=TokenDomain("USD Coin", "2"),
        chain_id=31337,
        token=TOKEN,
        paymaster=DEPOSITORY,
        receiver=TREASURY,
        key=KNOWN,
        signer=TREASURY,
        base_units=1,
        nonce=0,
        valid_after=0,
        valid_before=1,
    )

    with pytest.raises(ChainUnavailable):
        await GaslessReader(rpc).signer_state(relayed)


class TestRefusals:
    """A refusal of a node is no report that something does not exist."""

    @pytest.fixture
    async def nodes(self, serve):
        refusing, correct_node = await serve(), await serve()
        refusing.chain.answer = lambda method, params: INDEXING
        correct_node.chain.answer = lambda method, params: None
        return refusing, correct_node

    @pytest.mark.fault("S25")
    async def test_s25_a_refusing_node_does_not_prove_absence(self, session, nodes):
        reports = await reader_of(session, *nodes).receipts_of_each_node([KNOWN])

        assert [report.has_answered for report in reports[KNOWN]] == [False, True]

    @pytest.mark.parametrize("ask", ["receipts", "transactions"])
    async def test_refused_request_is_sent_to_another_node(self, session, nodes, ask):
        refusing, correct_node = nodes

        assert await getattr(reader_of(session, refusing, correct_node), ask)([KNOWN]) == {}
        assert correct_node.requests == 1
        with pytest.raises(ChainUnavailable):
            await getattr(reader_of(session, refusing), ask)([KNOWN])

    async def test_the_only_node_that_refuses_counts_as_unavailable(self, session, nodes):
        refusing, _ = nodes

        with pytest.raises(NodeRefused):
            await Node(refusing.url, session).call("eth_getTransactionReceipt", KNOWN)
        with pytest.raises(ChainUnavailable):
            await reader_of(session, refusing).receipts_of_each_node([KNOWN])


async def test_blocks_that_do_not_follow_one_another_are_read_from_another_node(session, serve):
    wrong, correct = await serve(), await serve()
    for node in (wrong, correct):
        node.chain.grow(3)
    correct.change = with_("eth_getBlockByNumber", transactions=[])
    wrong.change = with_("eth_getBlockByNumber", transactions=[], hash=KNOWN)
    last = to_block(Node(correct.url, None), correct.chain.blocks[3])

    assert not await reader_of(session, wrong, correct).transactions_between(first=1, last=last)
    with pytest.raises(ChainUnavailable, match="other blocks"):
        await reader_of(session, wrong).transactions_between(first=1, last=last)
