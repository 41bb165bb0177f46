"""The report of each node about a transaction, when they differ, lag or are unavailable."""

from __future__ import annotations

import pytest

from swap_chains.errors import ChainUnavailable
from swap_chains.evm.rpc import Rpc
from swap_chains.evm.state import EvmState

HASH = "0x" + "ab" * 32


def saying(node, status):
    """Let a node answer with a receipt of its first block; without a status with none."""

    def change(method, params, answer):
        if method != "eth_getTransactionReceipt":
            return answer
        block = node.chain.blocks[0]
        place = {"blockNumber": block["number"], "blockHash": block["hash"]}
        gas = {"gasUsed": "0x5208", "effectiveGasPrice": "0x2"}
        return status and {"transactionHash": params[0], "status": status, **place, **gas}

    node.chain.logs.append({"transactionHash": HASH, "blockHash": node.chain.blocks[0]["hash"]})
    node.change = change


@pytest.fixture
async def nodes(serve):
    return [await serve() for _ in range(3)]


def state_of(session, nodes):
    return EvmState(Rpc.to_urls("TESTNET", [n.url for n in nodes], session, timeout_seconds=0.5))


async def test_each_node_is_asked_and_named(session, nodes):
    for node, status in zip(nodes, ("0x0", "0x1", None), strict=True):
        saying(node, status)

    reports = (await state_of(session, nodes).receipts_of_each_node([HASH]))[HASH]

    assert [t.has_answered for t in reports] == [True, True, True]
    assert [t.receipt and t.receipt.succeeded for t in reports] == [False, True, None]
    assert [t.node.partition(":")[0] for t in reports] == ["0", "1", "2"]
    assert all("secret-key" not in t.node for t in reports)


async def test_a_silent_node_has_no_report(session, nodes):
    saying(nodes[0], "0x0")
    nodes[1].change = lambda *_: {"code": -32005, "message": "limit"}
    nodes[2].change = lambda method, params, answer: {"blockNumber": "0x0"}

    reports = (await state_of(session, nodes).receipts_of_each_node([HASH]))[HASH]

    assert [(t.has_answered, t.receipt is not None) for t in reports] == [
        (True, True),
        (False, False),
        (False, False),
    ]


async def test_no_answering_node_is_a_failure(session, nodes):
    for node in nodes:
        node.change = lambda *_: {"code": -32005, "message": "limit"}

    with pytest.raises(ChainUnavailable):
        await state_of(session, nodes).receipts_of_each_node([HASH])


@pytest.mark.fault("S26")
async def test_s26_the_fee_of_a_networks_data_is_part_of_what_a_transaction_cost(session, nodes):
    [node, *_] = nodes
    saying(node, "0x1")
    without = node.change

    def change(method, params, answer):
        changed = without(method, params, answer)
        return {**changed, "l1Fee": "0x64"} if method == "eth_getTransactionReceipt" else changed

    node.change = change

    [receipt] = (await state_of(session, [node]).receipts([HASH])).values()

    assert receipt.fee_base_units == 0x5208 * 2 + 0x64
