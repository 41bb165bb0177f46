"""Final decisions need the same report of two independent providers."""

from __future__ import annotations

import pytest

from swap_chains.errors import ChainUnavailable, FinalBlocksDiffer, NodesDiffer
from swap_chains.evm import codec
from swap_chains.evm.blocks import to_block
from swap_chains.evm.rpc import Node, Rpc
from swap_chains.evm.state import EvmState
from swap_chains.ports import Holding

SIGNER = codec.checksum_address("0x" + "51" * 20)
COIN = Holding(SIGNER, codec.ZERO_ADDRESS)


def state_of(session, *nodes):
    urls = [node.url for node in nodes]
    rpc = Rpc.to_urls("TESTNET", urls, session, timeout_seconds=2)
    return EvmState(rpc, needs_two=True)


@pytest.fixture
async def nodes(serve):
    """Return three nodes of three providers, on one chain of eleven blocks."""
    served = [await serve() for _ in range(3)]
    for node in served:
        node.chain.grow(10)
        node.chain.finality_depth = 4
    return served


def saying(number):
    return lambda method, params, answer: answer if method == "eth_chainId" else hex(number)


def away(method, params, answer):
    return {"code": -32603, "message": "later"}


def number(block):
    return to_block(Node("http://any", None), block)


class TestFinality:
    @pytest.mark.fault("W27")
    async def test_w27_is_not_ahead_of_a_second_provider(self, session, nodes):
        """A node that calls its head final is not trusted before the second node reports it."""
        false_node, correct_node, _ = nodes
        false_node.chain.finality_depth = 0

        assert (await state_of(session, false_node, correct_node).final_block()).number == 6

    @pytest.mark.fault("W27")
    async def test_w27_is_the_second_furthest_of_three(self, session, nodes):
        nodes[0].chain.finality_depth = 0
        nodes[2].chain.finality_depth = 8

        assert (await state_of(session, *nodes).final_block()).number == 6

    @pytest.mark.parametrize("depth", [0, 4, 6])
    @pytest.mark.fault("W27")
    async def test_w27_another_final_block_is_a_contradiction(self, session, serve, nodes, depth):
        false_node = await serve()
        false_node.chain.grow(10, salt="forged")
        false_node.chain.finality_depth = depth

        with pytest.raises(FinalBlocksDiffer):
            await state_of(session, false_node, *nodes[:2]).final_block()

    @pytest.mark.fault("W27")
    async def test_w27_block_is_not_final_by_one_of_two_providers(self, session, nodes):
        nodes[1].change = away

        with pytest.raises(ChainUnavailable):
            await state_of(session, *nodes[:2]).final_block()

    async def test_is_the_report_of_the_only_provider(self, session, nodes):
        assert (await state_of(session, nodes[0]).final_block()).number == 6

    @pytest.mark.fault("R8")
    async def test_r8_never_goes_down(self, session, nodes):
        state = state_of(session, *nodes[:2])
        await state.final_block()
        nodes[0].chain.finality_depth = 8

        assert (await state.final_block()).number == 6


class TestWhatIsPinned:
    @pytest.mark.fault("S12")
    async def test_s12_one_of_two_nodes_cannot_raise_a_nonce(self, session, nodes):
        false_node, correct_node, _ = nodes
        at = number(correct_node.chain.blocks[6])
        false_node.change, correct_node.change = saying(9), saying(3)

        with pytest.raises(NodesDiffer):
            await state_of(session, false_node, correct_node).nonce(SIGNER, at=at)

    async def test_two_of_three_that_agree_are_enough(self, session, nodes):
        at = number(nodes[0].chain.blocks[6])
        for node, units in zip(nodes, (9, 3, 3), strict=True):
            node.change = saying(units)

        assert await state_of(session, *nodes).balances([COIN], at=at) == {COIN: 3}

    async def test_pinned_balance_needs_reports_of_two_providers(self, session, nodes):
        at = number(nodes[0].chain.blocks[6])
        nodes[0].change, nodes[1].change = saying(9), away

        with pytest.raises(ChainUnavailable):
            await state_of(session, *nodes[:2]).balances([COIN], at=at)

    async def test_each_provider_has_its_own_report(self, session, nodes):
        at = number(nodes[0].chain.blocks[6])
        nodes[0].change, nodes[1].change, nodes[2].change = saying(9), saying(3), away

        reports = await state_of(session, *nodes).balances_of_each_provider([COIN], at=at)

        assert list(reports.values()) == [{COIN: 9}, {COIN: 3}]

    async def test_the_only_provider_is_enough(self, session, nodes):
        nodes[0].change = saying(9)

        at = number(nodes[0].chain.blocks[6])
        assert await state_of(session, nodes[0]).nonce(SIGNER, at=at) == 9


def at_nonce(mined, waiting=None):
    """Return a node's answers: the nonce in blocks, and the one with pending transactions."""
    by_tag = {"latest": mined, "pending": mined if waiting is None else waiting}

    def answer(method, params, found):
        return hex(by_tag[params[1]]) if method == "eth_getTransactionCount" else found

    return answer


class TestTheHighestNonce:
    @pytest.mark.parametrize("false_node", [0, 1])
    @pytest.mark.fault("P5", "P6")
    async def test_p6_is_not_hidden_by_one_of_two_providers(self, session, nodes, false_node):
        nodes[false_node].change, nodes[1 - false_node].change = at_nonce(3), at_nonce(5)

        assert await state_of(session, *nodes[:2]).highest_nonce(SIGNER) == 5

    async def test_counts_what_waits_at_either(self, session, nodes):
        nodes[0].change, nodes[1].change = at_nonce(3), at_nonce(3, waiting=4)

        assert await state_of(session, *nodes[:2]).highest_nonce(SIGNER) == 4

    async def test_a_pool_behind_its_blocks_does_not_lower_the_nonce(self, session, nodes):
        for node in nodes[:2]:
            node.change = at_nonce(5, waiting=3)

        assert await state_of(session, *nodes[:2]).highest_nonce(SIGNER) == 5

    async def test_is_not_known_by_one_of_two_providers(self, session, nodes):
        nodes[0].change, nodes[1].change = at_nonce(3), away

        with pytest.raises(ChainUnavailable):
            await state_of(session, *nodes[:2]).highest_nonce(SIGNER)

    async def test_two_of_three_are_enough(self, session, nodes):
        nodes[0].change, nodes[1].change, nodes[2].change = at_nonce(3), away, at_nonce(4)

        assert await state_of(session, *nodes).highest_nonce(SIGNER) == 4

    async def test_is_the_report_of_the_only_provider(self, session, nodes):
        nodes[0].change = at_nonce(3)

        assert await state_of(session, nodes[0]).highest_nonce(SIGNER) == 3
