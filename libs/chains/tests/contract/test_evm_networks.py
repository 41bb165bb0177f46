"""Cases of real nodes only: other contracts, the startup check, catching up."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest

from libs.chains.tests.following import follow
from swap_chains.errors import ChainMismatch, WrongChain
from swap_chains.events import BlockAdded, Deposited, TokenTransfer
from swap_chains.evm import codec
from swap_chains.evm.check import check_chain
from swap_chains.evm.follower import Pace
from swap_chains.evm.reader import EvmReader
from swap_chains.evm.rpc import Rpc, open_session
from swap_chains.ports import Call

pytestmark = pytest.mark.connected
UNUSED_ADDRESS = codec.checksum_address("0x" + "a0" * 20)


@pytest.fixture
async def session():
    async with open_session() as opened:
        yield opened


@pytest.fixture
def rpc(anvil_url, session):
    return Rpc.to_urls("ETHEREUM_DEVNET", [anvil_url], session)


def reader_of(anvil, rpc, **options):
    return EvmReader(
        rpc,
        depository=anvil.depository,
        treasury=anvil.treasury,
        tokens=[anvil.token],
        **options,
    )


@pytest.mark.fault("W13")
async def test_a_copy_of_the_depository_is_ignored(anvil, copied_depository):
    start = await anvil.reader.head()
    approval = Call(anvil.token, 0, codec.encode_approve(copied_depository, 5), 100_000)
    deposit = replace(anvil.deposit_token(71, 5), to=copied_depository)
    await anvil.send(anvil.user, approval, deposit)
    await anvil.mine(1)

    movements = await anvil.movements_after(start)

    (transfer,) = movements
    assert isinstance(transfer, TokenTransfer)
    assert transfer.claimed_by is None


async def test_a_restarted_follower_polls_immediately(anvil, rpc):
    reader = reader_of(anvil, rpc, pace=Pace(poll_seconds=3600))
    before = await anvil.reader.head()
    await anvil.mine(1)
    async with aclosing(reader.follow_batches(after=before)) as batches:
        await anext(batches)
        start = await anvil.reader.head()
        await anvil.send_and_mine(anvil.user, anvil.deposit_token(72, 5))
        coming = asyncio.ensure_future(anext(batches))
        done, _ = await asyncio.wait({coming}, timeout=0.3)
        assert not done
        coming.cancel()
        await asyncio.wait({coming})

    async with asyncio.timeout(10), aclosing(follow(reader, after=start)) as events:
        added = await anext(events)

    assert isinstance(added, BlockAdded)
    assert isinstance(added.movements[-1], Deposited)


@pytest.mark.fault("W7")
async def test_many_blocks_are_read_by_ranges_with_the_same_result(anvil, rpc):
    start = await anvil.reader.head()
    for number in (1, 2, 3):
        await anvil.send_and_mine(anvil.user, anvil.deposit_token(80 + number, number))
        await anvil.mine(120)
    await anvil.send_and_mine(anvil.user, anvil.deposit_token(84, 4))
    head = await anvil.reader.head()

    received = await anvil.blocks_until_head(after=start)
    careful = reader_of(anvil, rpc, pace=Pace(gap_blocks_max=10**9))
    every: list[BlockAdded] = []
    async with aclosing(follow(careful, after=start)) as events:
        async for event in events:
            if isinstance(event, BlockAdded):
                every.append(event)
                if event.block == head:
                    break

    assert len(every) == head.number - start.number
    assert [e for e in received if e.movements] == [e for e in every if e.movements]
    assert [m.base_units for e in received for m in e.movements if isinstance(m, Deposited)] == [
        1,
        2,
        3,
        4,
    ]
    assert len(received) < 50


async def findings(rpc, **configured):
    try:
        await check_chain(rpc, chain_id=31337, **configured)
    except ChainMismatch as mismatch:
        return mismatch.findings
    return ()


class TestStartupCheck:
    async def test_the_chain_as_configured_passes(self, anvil, rpc):
        found = await findings(
            rpc,
            depository=anvil.depository,
            treasury=anvil.treasury,
            decimals={anvil.token: 6, codec.ZERO_ADDRESS: 18},
            operator=anvil.operator.address,
        )

        assert found == ()

    @pytest.mark.fault("M3", "M12")
    async def test_every_mismatch_is_named(self, anvil, rpc):
        text = "; ".join(
            await findings(
                rpc,
                depository=anvil.depository,
                treasury=anvil.token,
                decimals={anvil.token: 18},
                operator=anvil.user.address,
            )
        )

        assert "does not have 18 decimals" in text
        assert "does not list" in text
        assert "is no operator" in text

    @pytest.mark.fault("M12")
    async def test_an_address_without_code_is_named(self, anvil, rpc):
        with pytest.raises(ChainMismatch, match=f"no contract at {UNUSED_ADDRESS}"):
            await check_chain(
                rpc,
                chain_id=31337,
                depository=UNUSED_ADDRESS,
                treasury=anvil.treasury,
                decimals={},
            )

    @pytest.mark.fault("S29", "M12")
    async def test_s29_a_node_of_another_chain_is_refused(self, anvil, rpc):
        with pytest.raises(WrongChain) as caught:
            await check_chain(
                rpc,
                chain_id=1,
                depository=anvil.depository,
                treasury=anvil.treasury,
                decimals={},
            )

        assert (caught.value.expected, caught.value.actual) == (1, 31337)
