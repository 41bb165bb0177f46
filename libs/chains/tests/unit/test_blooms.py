"""A log that its header's bloom excludes is not accepted, where blooms can be trusted.

The contract tests show that the bits are right: anvil's headers have true blooms.
"""

from __future__ import annotations

from contextlib import aclosing

import pytest

from libs.chains.tests.following import follow
from swap_chains.errors import InconsistentAnswer
from swap_chains.evm import codec
from swap_chains.evm.blocks import to_block
from swap_chains.evm.blooms import may_contain
from swap_chains.evm.follower import Pace
from swap_chains.evm.reader import EvmReader
from swap_chains.evm.rpc import Node, Rpc

TREASURY = codec.checksum_address("0x" + "7e" * 20)
TOKEN = codec.checksum_address("0x" + "70" * 20)
EMPTY, FULL = "0x" + "00" * 256, "0x" + "ff" * 256


@pytest.mark.parametrize(("bloom", "may"), [(EMPTY, False), (FULL, True)])
def test_excludes_what_has_no_bits(bloom, may):
    assert may_contain(bloom, TOKEN, [codec.TRANSFER]) is may


@pytest.mark.parametrize("bloom", ["", "0x", "0x00", "none"])
def test_bloom_of_another_length_is_refused(bloom):
    with pytest.raises(ValueError, match=r"bloom|hex"):
        may_contain(bloom, TOKEN, [])


@pytest.mark.parametrize("has_blooms", [True, False])
@pytest.mark.parametrize("bloom", [EMPTY, None])
@pytest.mark.fault("W1")
async def test_a_log_that_the_bloom_excludes_is_rejected(session, serve, has_blooms, bloom):
    """The other node has the same block, with a bloom that does not exclude it."""
    false_node, correct_node = await serve(), await serve()
    for node in (false_node, correct_node):
        node.chain.grow(1)
        node.chain.add_transfer(1, 5)
    false_node.chain.blocks[1]["logsBloom"] = bloom
    correct_node.chain.blocks[1]["logsBloom"] = FULL
    failures = []
    rpc = Rpc.to_urls(
        "TESTNET", [false_node.url, correct_node.url], session, on_failure=failures.append
    )
    reader = EvmReader(
        rpc,
        depository=TREASURY,
        treasury=TREASURY,
        tokens=[TOKEN],
        pace=Pace(poll_seconds=0.005),
        has_blooms=has_blooms,
    )
    start = to_block(Node(false_node.url, None), false_node.chain.blocks[0])

    async with aclosing(follow(reader, after=start)) as events:
        added = await anext(aiter(events))

    assert len(added.movements) == 1
    assert added.block.provider == (correct_node if has_blooms else false_node).url.split("/")[2]
    assert [type(failure) for failure in failures] == [InconsistentAnswer] * has_blooms
