"""Processes one block with one deposit, in a separate process that a test may kill."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path

from pydantic import SecretStr

sys.path.insert(0, str(Path(__file__).parents[1]))

from watch_factories import NETWORK, a_block, a_deposit, a_policy

from swap_chain_watcher.adapters.unit_of_work import PostgresUnitOfWork
from swap_chain_watcher.adapters.watches import PostgresWatches
from swap_chain_watcher.usecases.advance_watch import AdvanceWatch
from swap_chains.events import BlockAdded
from swap_runtime.postgres.database import create_engine


async def main(url: str) -> None:
    engine = create_engine(SecretStr(url), application_name="crash")
    advance_watch = AdvanceWatch(
        PostgresUnitOfWork(engine, consumer="chain_watcher"),
        policy=a_policy(),
        clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
    )
    watch = await PostgresWatches(engine).load(NETWORK)
    assert watch is not None
    await advance_watch(watch, [BlockAdded(a_block(1), (a_deposit("one"),))], epoch=1)
    await engine.dispose()


asyncio.run(main(sys.argv[1]))
