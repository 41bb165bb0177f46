"""A chain that is followed into a real Postgres, for the tests of the chain-watcher."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from watch_factories import (
    DEPOSITORY,
    NETWORK,
    TREASURY,
    USDC,
    USER,
    a_network,
    a_policy,
)

from swap_chain_watcher import observe
from swap_chain_watcher.adapters.unit_of_work import PostgresUnitOfWork
from swap_chain_watcher.adapters.watches import PostgresWatches
from swap_chain_watcher.usecases.advance_watch import AdvanceWatch
from swap_chain_watcher.usecases.follow_network import FollowNetwork, Patience
from swap_chain_watcher.usecases.open_watch import OpenWatch
from swap_chains.evm.codec import encode_deposit_erc20
from swap_chains.fake import FakeChain, FakeReader, FakeSender
from swap_chains.ports import Call, SignedTransaction
from swap_runtime.database import Engine
from swap_runtime.sql import sql
from swap_runtime.wake import Wake

NOW = datetime(2026, 1, 1, tzinfo=UTC)
IMPATIENT = Patience(
    first_pause=timedelta(milliseconds=5),
    pause_max=timedelta(milliseconds=20),
    check_after=timedelta(milliseconds=50),
    between_hints=timedelta(0),
    halted_check=timedelta(milliseconds=10),
    beat_every=timedelta(milliseconds=20),
)


async def checked() -> None:
    """A chain that is what the catalogue says."""


class World:
    """A chain, somebody who deposits on it, and the watcher's database."""

    def __init__(self, engine: Engine, epoch: int) -> None:
        self.engine = engine
        self.epoch = epoch
        self.watches = PostgresWatches(engine)
        self.work = PostgresUnitOfWork(engine, consumer="chain_watcher")
        self.hinted = Wake()
        self.check_chain: Callable[[], Awaitable[None]] = checked
        self.chain = self.a_chain()

    def a_chain(self) -> FakeChain:
        chain = FakeChain(
            NETWORK,
            depository=DEPOSITORY,
            treasury=TREASURY,
            decimals={USDC: 6},
            finality_depth=6,
        )
        chain.give(USER, USDC, 10**9)
        return chain

    def another_chain(self, *, blocks: int) -> FakeChain:
        """Return a chain with the same genesis and nothing else in common."""
        chain = self.a_chain()
        chain.mine(blocks)
        chain.reorg(blocks)
        return chain

    async def is_interrupted(self, times: int = 2) -> None:
        """Wait until the follower has given up and begun anew so often from now on."""
        counted = observe.INTERRUPTIONS.labels(NETWORK)._value
        enough = counted.get() + times

        async def interrupted() -> bool:
            return bool(counted.get() >= enough)

        await until(interrupted)

    @asynccontextmanager
    async def followed(self, reader: FakeReader | None = None) -> AsyncIterator[None]:
        """Follow in the background, as one process does, until the block is left."""
        reader = reader or FakeReader(self.chain)
        follow_network = FollowNetwork(
            reader,
            self.watches,
            open_watch=OpenWatch(
                self.watches,
                reader,
                check_chain=self.check_chain,
                start_block=a_network().start_block,
            ),
            advance_watch=AdvanceWatch(self.work, policy=a_policy(), clock=lambda: NOW),
            hinted=self.hinted,
            clock=lambda: NOW,
            random=Random(1),
            patience=IMPATIENT,
        )
        task = asyncio.create_task(follow_network(lambda: None, epoch=self.epoch))
        try:
            yield
        finally:
            assert not task.done(), task.exception()
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def deposits(self, sequence_number: int, base_units: int = 10) -> SignedTransaction:
        data = encode_deposit_erc20(f"0x{sequence_number:064x}", USDC, TREASURY, base_units)
        sender, reader = FakeSender(self.chain, USER), FakeReader(self.chain)
        nonce = await reader.pending_nonce(USER)
        signed = await sender.sign(
            Call(DEPOSITORY, 0, data, 10**6), nonce=nonce, fees=await reader.fees()
        )
        await sender.broadcast([signed])
        return signed

    async def said(self) -> list[tuple[str, int]]:
        return [(body["state"], body["version"]) for body in await self.messages()]

    async def messages(self) -> list[dict[str, Any]]:
        async with self.engine.connect() as connection:
            payloads = await connection.scalars(sql("SELECT payload FROM outbox ORDER BY id"))
            return [json.loads(payload)["body"] for payload in payloads]

    async def says(self, *expected: tuple[str, int]) -> None:
        await until(lambda: self._said_is(list(expected)))

    async def _said_is(self, expected: list[tuple[str, int]]) -> bool:
        return await self.said() == expected

    async def is_at_head(self) -> None:
        await until(self._is_at_head)

    async def _is_at_head(self) -> bool:
        watch = await self.watches.load(NETWORK)
        return watch is not None and watch.cursor == self.chain.blocks[-1]

    async def is_halted(self) -> str:
        async def halted() -> bool:
            return await self.watches.find_halt(NETWORK) is not None

        await until(halted)
        halt = await self.watches.find_halt(NETWORK)
        assert halt is not None
        return halt.reason


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(10):
        while not await condition():  # noqa: ASYNC110  what is waited for is in Postgres
            await asyncio.sleep(0.01)
