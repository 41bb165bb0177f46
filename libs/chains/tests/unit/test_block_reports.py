"""Each provider's report of a block: a denial counts only from a node with the complete block."""

from __future__ import annotations

import pytest

from swap_chains.events import TokenTransfer
from swap_chains.evm import codec
from swap_chains.evm.blocks import to_block
from swap_chains.evm.reader import EvmReader
from swap_chains.evm.rpc import Node, Rpc

DEPOSITORY = codec.checksum_address("0x" + "d1" * 20)
TREASURY = codec.checksum_address("0x" + "7e" * 20)
TOKEN = codec.checksum_address("0x" + "70" * 20)
UNITS, OTHER_UNITS = 9, 8
TRANSACTION, UNKNOWN = f"0x{UNITS:064x}", f"0x{77:064x}"
NUMBER = 2


@pytest.fixture
async def nodes(serve):
    """Return two nodes of two providers, on one chain with a transfer in its second block."""
    served = [await serve() for _ in range(2)]
    for node in served:
        node.chain.grow(3)
        node.chain.add_transfer(NUMBER, UNITS)
    return served


async def reports_of(session, *nodes, transaction_hashes=(TRANSACTION, UNKNOWN)):
    rpc = Rpc.to_urls("TESTNET", [node.url for node in nodes], session, timeout_seconds=2)
    reader = EvmReader(rpc, depository=DEPOSITORY, treasury=TREASURY, tokens=[TOKEN])
    block = to_block(Node("http://any", None), nodes[0].chain.blocks[NUMBER])
    reports = await reader.block_of_each_provider(block, transaction_hashes=transaction_hashes)
    assert [report.provider for report in reports] == list(rpc.providers)
    return reports


def sums(report):
    return [m.base_units for m in report.movements if isinstance(m, TokenTransfer)]


async def test_each_provider_has_its_own_report(session, nodes):
    nodes[1].chain.add_transfer(NUMBER, OTHER_UNITS)

    first, second = await reports_of(session, *nodes)

    assert (sums(first), sums(second)) == ([UNITS], [UNITS, OTHER_UNITS])


@pytest.mark.fault("W1")
async def test_w1_a_provider_without_the_transaction_denies_it(session, nodes):
    nodes[1].chain.logs.clear()

    _, second = await reports_of(session, *nodes)

    assert second.movements == ()


@pytest.mark.fault("W1")
@pytest.mark.parametrize("hidden", ["eth_getLogs", "eth_getTransactionReceipt"])
async def test_w1_a_lost_index_is_no_denial(session, nodes, hidden):
    """Of logs or of transactions: the block's own list and the receipts contradict it."""
    nothing = {"eth_getLogs": [], "eth_getTransactionReceipt": None}[hidden]
    lost = {hidden, "eth_getLogs"}
    nodes[1].change = lambda method, params, answer: (
        nothing if method == hidden else [] if method in lost else answer
    )

    first, second = await reports_of(session, *nodes)

    assert sums(first) == [UNITS]
    assert second.movements is None
    assert second.failure


@pytest.mark.parametrize("lacks", ["is behind", "has another block"])
async def test_a_provider_without_the_very_block_gives_no_answer(session, nodes, lacks):
    nodes[1].chain.cut(2)
    if lacks == "has another block":
        nodes[1].chain.grow(4, salt="other")

    _, second = await reports_of(session, *nodes)

    assert second.movements is None
    assert second.failure


async def test_a_provider_that_does_not_answer_is_in_the_reports(session, nodes):
    nodes[1].change = lambda method, params, answer: {"code": -32603, "message": "later"}

    _, second = await reports_of(session, *nodes)

    assert second.movements is None
