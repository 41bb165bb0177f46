"""A contract accepts a signature when two providers report so at the same recent block."""

from __future__ import annotations

import pytest

from swap_chains.errors import ChainUnavailable, NodesDiffer
from swap_chains.evm import codec
from swap_chains.evm.personal_signatures import VALID, WalletAnswer, ask_wallet
from swap_chains.evm.rpc import Rpc

WALLET = codec.checksum_address("0x" + "51" * 20)
DIGEST, SIGNATURE = b"\1" * 32, b"\x51" * 65
HEAD = 1_700_000_010  # of a chain of eleven blocks, in seconds
MINUTE = 60


def rpc_of(session, *nodes):
    urls = [node.url for node in nodes]
    return Rpc.to_urls("TESTNET", urls, session, timeout_seconds=2, rounds=1)


async def answer_of(session, *nodes):
    return await ask_wallet(rpc_of(session, *nodes), WALLET, DIGEST, SIGNATURE)


def accepting(method, params, answer):
    changed = {"eth_getCode": "0x60", "eth_call": "0x" + VALID.hex()}
    return changed.get(method, answer)


def accepting_up_to(block):
    """Return answers that accept the signature in the state of blocks up to this one."""

    def change(method, params, answer):
        if method not in ("eth_getCode", "eth_call"):
            return answer
        _, place = params
        is_old = place == {"blockHash": block["hash"]}
        return accepting(method, params, answer) if is_old or method == "eth_getCode" else "0x"

    return change


def away(method, params, answer):
    return {"code": -32603, "message": "later"}


@pytest.fixture
async def nodes(serve):
    """Return three nodes of three providers, on one chain of eleven blocks."""
    served = [await serve() for _ in range(3)]
    for node in served:
        node.chain.grow(10)
    return served


@pytest.mark.parametrize("false_node", [0, 1])
async def test_two_nodes_that_differ_accept_no_signature(session, nodes, false_node):
    nodes[false_node].change = accepting

    with pytest.raises(NodesDiffer):
        await answer_of(session, *nodes[:2])


async def test_two_that_report_the_same_are_enough(session, nodes):
    first, second, _ = nodes
    assert await answer_of(session, first, second) is WalletAnswer.NO_CODE

    first.change = second.change = accepting

    assert await answer_of(session, first, second) is WalletAnswer.ACCEPTED


async def test_two_of_three_are_enough(session, nodes):
    nodes[0].change = nodes[2].change = accepting

    assert await answer_of(session, *nodes) is WalletAnswer.ACCEPTED


async def test_accepted_signature_needs_reports_of_two_nodes(session, nodes):
    nodes[0].change, nodes[1].change = accepting, away

    with pytest.raises(ChainUnavailable):
        await answer_of(session, *nodes[:2])


async def test_both_are_asked_about_one_block_that_both_have(session, nodes):
    ahead, behind, _ = nodes
    places = []

    def listening(method, params, answer):
        if method in ("eth_getCode", "eth_call"):
            places.append(params[1])
        return accepting(method, params, answer)

    ahead.change = behind.change = listening
    ahead.chain.grow(1)

    assert await answer_of(session, ahead, behind) is WalletAnswer.ACCEPTED
    assert places == [{"blockHash": behind.chain.blocks[-1]["hash"]}] * 4


@pytest.mark.parametrize("block_time", ["as it is", "forged"])
async def test_an_old_block_is_not_passed_off_as_the_head(session, nodes, block_time):
    """The owner at that block has sold the wallet; both nodes report its old state correctly."""
    false_node, correct_node, _ = nodes
    for block in (*false_node.chain.blocks[8:], *correct_node.chain.blocks[8:]):
        block["timestamp"] = hex(HEAD + MINUTE)
    false_node.chain.cut(4)
    old = correct_node.chain.blocks[6]
    false_node.change = correct_node.change = accepting_up_to(old)
    if block_time == "forged":
        false_node.chain.blocks[6]["timestamp"] = hex(HEAD + MINUTE)

    with pytest.raises((ChainUnavailable, NodesDiffer)):
        await answer_of(session, false_node, correct_node)


async def test_a_head_of_another_chain_is_no_common_block(session, serve, nodes):
    false_node = await serve()
    false_node.chain.grow(10, salt="forged")
    false_node.change = accepting

    with pytest.raises(ChainUnavailable):
        await answer_of(session, false_node, nodes[0])


async def test_the_only_provider_is_asked_at_its_head(session, nodes):
    nodes[0].change = accepting

    assert await answer_of(session, nodes[0]) is WalletAnswer.ACCEPTED
    assert nodes[0].methods == ["eth_getCode", "eth_call"]


async def test_a_node_without_the_state_of_the_block_has_no_report(session, nodes):
    """Its refusal is not the wallet's; otherwise two of them would refuse for it."""

    def refuses(method, params, answer):
        is_state = method in ("eth_getCode", "eth_call")
        return {"code": -32000, "message": "missing trie node"} if is_state else answer

    nodes[0].change = nodes[1].change = refuses

    with pytest.raises(ChainUnavailable):
        await answer_of(session, *nodes[:2])
