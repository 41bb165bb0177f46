"""A report of one node is never confirmed by a node of the same provider."""

from __future__ import annotations

import pytest

from swap_chains.errors import BlockDiffers, ChainUnavailable, InconsistentAnswer
from swap_chains.evm import codec
from swap_chains.evm.blocks import to_block
from swap_chains.evm.reader import EvmReader
from swap_chains.evm.rpc import Node, Rpc

DEPOSITORY = codec.checksum_address("0x" + "d1" * 20)
TREASURY = codec.checksum_address("0x" + "7e" * 20)
TOKEN = codec.checksum_address("0x" + "70" * 20)


def reader_of(session, nodes, failures):
    urls = [node.url for node in nodes]
    rpc = Rpc.to_urls("TESTNET", urls, session, timeout_seconds=2, on_failure=failures.append)
    return EvmReader(rpc, depository=DEPOSITORY, treasury=TREASURY, tokens=[TOKEN])


def block(node, number):
    return to_block(Node(node.url, None), node.chain.blocks[number])


class TestSecondLook:
    @pytest.mark.fault("W1")
    async def test_w1_a_false_node_is_never_asked_to_confirm_its_report(self, session, serve):
        """The other node has no such block, which is the finding."""
        false_node, correct_node = await serve(), await serve()
        false_node.chain.grow(3, salt="forged")
        false_node.chain.add_transfer(1, 10**9)  # a payment that does not exist
        correct_node.chain.grow(3)
        failures = []
        last = block(false_node, 3)
        requests_before = false_node.requests

        with pytest.raises(BlockDiffers):
            await reader_of(session, [false_node, correct_node], failures).movements(
                first=1, last=last, excluded_providers={last.provider}
            )

        assert false_node.requests == requests_before

    @pytest.mark.fault("W1")
    async def test_w1_it_waits_while_no_other_provider_answers(self, session, serve):
        false_node, correct_node = await serve(), await serve()
        false_node.chain.grow(3)
        false_node.chain.add_transfer(1, 10**9)

        def refuse(method, params, answer):
            return {"code": -32603, "message": "later"}

        correct_node.change = refuse
        last = block(false_node, 3)

        with pytest.raises(ChainUnavailable):
            await reader_of(session, [correct_node, false_node], []).movements(
                first=1, last=last, excluded_providers={last.provider}
            )

        assert false_node.requests == 0

    @pytest.mark.fault("W3")
    async def test_w3_a_failover_within_the_look_goes_to_a_third_provider_only(
        self, session, serve
    ):
        first, broken, third = await serve(), await serve(), await serve()
        for node in (first, broken, third):
            node.chain.grow(3)
        broken.change = lambda method, params, answer: (
            [{"removed": True}] if method == "eth_getLogs" else answer
        )
        failures = []
        last = block(first, 3)

        found = await reader_of(session, [first, broken, third], failures).movements(
            first=1, last=last, excluded_providers={last.provider}
        )

        assert found == []
        assert [type(failure) for failure in failures] == [InconsistentAnswer]
        assert first.requests == 0
