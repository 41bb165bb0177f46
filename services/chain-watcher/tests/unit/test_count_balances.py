"""The queried balances, and the case that no node reports them any more."""

from __future__ import annotations

from datetime import timedelta

import pytest
from watch_factories import (
    DEPOSIT_ADDRESS,
    DEPOSITORY,
    FACTORY,
    GENESIS_TIME,
    NETWORK,
    TREASURY,
    USDC,
    a_policy,
)

from swap_chain_watcher.adapters.targets import PostgresTargets
from swap_chain_watcher.domain.deposit_addresses import DueAddresses
from swap_chain_watcher.usecases.count_balances import (
    STATE_HISTORY_MIN,
    CountBalances,
    CountSchedule,
)
from swap_chains.errors import ChainUnavailable
from swap_chains.events import Block, BlockAdded, BlocksFinalized, BlocksReverted
from swap_chains.fake import FakeChain, FakeReader

NOW = GENESIS_TIME + timedelta(days=1)


class ReaderWithoutHistory(FakeReader):
    """A full node without the state of blocks far below its head."""

    async def balances(self, holdings, *, at):  # type: ignore[no-untyped-def]
        if (await self.head()).number - at.number > STATE_HISTORY_MIN:
            raise ChainUnavailable(NETWORK, ["missing trie node"])
        return await super().balances(holdings, at=at)


class UnavailableReader(FakeReader):
    async def balances(self, holdings, *, at):  # type: ignore[no-untyped-def]
        raise ChainUnavailable(NETWORK, ["no answer"])


class OneTarget(PostgresTargets):
    def __init__(self) -> None:
        pass  # no statement is executed

    async def load_due(self, network: str, **_: object) -> DueAddresses:
        return DueAddresses((DEPOSIT_ADDRESS,), (), has_new=False, young_since=NOW)


@pytest.fixture
def chain() -> FakeChain:
    chain = FakeChain(
        NETWORK, depository=DEPOSITORY, treasury=TREASURY, decimals={USDC: 6}, factory=FACTORY
    )
    chain.mine(STATE_HISTORY_MIN + 1)
    return chain


def counting(reader: FakeReader) -> CountBalances:
    return CountBalances(
        OneTarget(), reader, policy=a_policy(), count_schedule=CountSchedule(), watched=frozenset()
    )


def added(block: Block) -> BlockAdded:
    return BlockAdded(block, ())


async def test_a_catch_up_continues_over_blocks_with_pruned_state(chain: FakeChain) -> None:
    count_balances = counting(ReaderWithoutHistory(chain))

    assert await count_balances.count([added(chain.blocks[0])], at=NOW) is None
    count = await count_balances.count([added(chain.blocks[-1])], at=NOW)

    assert count is not None
    assert count.block == chain.blocks[-1]


async def test_near_the_head_a_count_is_waited_for(chain: FakeChain) -> None:
    with pytest.raises(ChainUnavailable):
        await counting(UnavailableReader(chain)).count([added(chain.blocks[1])], at=NOW)


async def test_unavailable_balances_of_a_final_block_are_skipped(chain: FakeChain) -> None:
    last = chain.blocks[-1]
    assert (
        await counting(UnavailableReader(chain)).count([added(last), BlocksFinalized(last)], at=NOW)
        is None
    )


async def test_a_transaction_mined_again_after_a_separate_reorg_is_looked_up(
    chain: FakeChain,
) -> None:
    count_balances = counting(FakeReader(chain))
    first = await count_balances.count([added(chain.blocks[-1])], at=NOW)
    assert first is not None
    count_balances.store_balances(first)
    again = await count_balances.count([added(chain.blocks[-1])], at=NOW)
    assert again is not None
    assert again.changed == frozenset()

    reverted = BlocksReverted(chain.blocks[-2], (chain.blocks[-1],))
    assert await count_balances.count([reverted], at=NOW) is None
    count = await count_balances.count([added(chain.blocks[-1])], at=NOW)

    assert count is not None
    assert count.changed == {DEPOSIT_ADDRESS}
