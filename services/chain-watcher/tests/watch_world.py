"""A chain followed into a real Postgres, for the tests of the chain-watcher."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from watch_factories import (
    DEPOSITORY,
    FACTORY,
    NETWORK,
    TREASURY,
    USDC,
    USER,
    a_network,
    a_policy,
)

from swap_chain_watcher import observe
from swap_chain_watcher.adapters.rises import PostgresRises
from swap_chain_watcher.adapters.targets import PostgresTargets
from swap_chain_watcher.adapters.unit_of_work import PostgresUnitOfWork
from swap_chain_watcher.adapters.watches import PostgresWatches
from swap_chain_watcher.usecases.activate_targets import ActivateTargets, FollowedAddresses
from swap_chain_watcher.usecases.advance_watch import AdvanceWatch
from swap_chain_watcher.usecases.count_balances import CountBalances, CountSchedule
from swap_chain_watcher.usecases.deny_rises import DenyRises
from swap_chain_watcher.usecases.find_rise_transactions import FindRiseTransactions
from swap_chain_watcher.usecases.follow_network import FollowNetwork, FollowTimings
from swap_chain_watcher.usecases.open_watch import OpenWatch
from swap_chain_watcher.usecases.record_targets import RecordTargets
from swap_chain_watcher.usecases.resume_network import ResumeNetwork
from swap_chain_watcher.usecases.run_second_look import RunSecondLook
from swap_chain_watcher.usecases.take_back_logs import TakeBackLogs
from swap_chain_watcher.usecases.verify_deposits import VerifyDeposits
from swap_chains.evm.codec import Payment, encode_deposit_erc20, encode_pay, encode_transfer
from swap_chains.evm.deposit_addresses import Sweep, deposit_address, encode_sweep
from swap_chains.fake import FakeChain, FakeReader, FakeSender
from swap_chains.fake.execution import INIT_CODE_HASH
from swap_chains.ports import Call, SignedTransaction
from swap_contracts.deposits import DepositTargetAssigned
from swap_contracts.topics import DEPOSIT_TARGET_ASSIGNED
from swap_domain.catalogue import NATIVE
from swap_runtime.postgres.database import Engine
from swap_runtime.postgres.sql import sql
from swap_runtime.postgres.wake import Wake
from tests.support.waiting import until

READER = "reader_of_a_test"  # the schema of the service that pays for published movements
SECOND = "second.example"  # another provider than that of the followed node
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SHORT_TIMINGS = FollowTimings(
    first_pause=timedelta(milliseconds=5),
    pause_max=timedelta(milliseconds=20),
    check_after=timedelta(milliseconds=50),
    between_hints=timedelta(0),
    halted_check=timedelta(milliseconds=10),
    beat_every=timedelta(milliseconds=20),
)


async def pass_check() -> None:
    """A chain check that always passes."""


class World:
    """A chain, a depositor, and the watcher's database."""

    def __init__(self, engine: Engine, epoch: int) -> None:
        self.engine = engine
        self.epoch = epoch
        # Without tables of other services, unless a test creates some.
        self.watches = PostgresWatches(engine, reader=READER)
        self.work = PostgresUnitOfWork(engine, consumer="chain_watcher")
        self.hinted = Wake()
        self._ticks = 0
        self.policy = a_policy()
        self.count_schedule = CountSchedule(old_every=timedelta(days=36_500))
        self.check_chain: Callable[[], Awaitable[None]] = pass_check
        self.chain = self.a_chain()
        self.explains_rises = False  # an additional message for each rise of coins

    def ticking(self) -> datetime:
        """Return a time that no earlier call returned."""
        self._ticks += 1
        return NOW + timedelta(microseconds=self._ticks)

    def a_chain(self) -> FakeChain:
        chain = FakeChain(
            NETWORK,
            depository=DEPOSITORY,
            treasury=TREASURY,
            decimals={USDC: 6},
            factory=FACTORY,
            finality_depth=6,
        )
        chain.give(USER, USDC, 10**9)
        chain.give(USER, NATIVE, 10**9)
        return chain

    def another_chain(self, *, blocks: int) -> FakeChain:
        """Return a chain with the same genesis and nothing else in common."""
        chain = self.a_chain()
        chain.mine(blocks)
        chain.reorg(blocks)
        return chain

    def denying(self, reader: FakeReader) -> DenyRises:
        """Return the use case that queries that reader's providers about coins in final blocks."""
        return DenyRises(self.work, self.watches, reader, clock=self.ticking)

    def taking_back(self, reader: FakeReader) -> TakeBackLogs:
        """Return the use case that queries that reader's providers about published logs."""
        return TakeBackLogs(
            self.work,
            self.watches,
            reader,
            policy=self.policy,
            clock=self.ticking,
            addresses=FollowedAddresses(PostgresTargets(self.engine), NETWORK, set()),
        )

    def resuming(
        self,
        reader: FakeReader | None = None,
        *,
        blocks_max: int = 1000,
        within: timedelta = timedelta(seconds=20),
    ) -> ResumeNetwork:
        """Return the use case that resumes the network if that reader confirms the stored facts."""
        reader = reader or FakeReader(self.chain, provider=SECOND)
        open_watch = OpenWatch(self.watches, reader, check_chain=self.check_chain, start_block=0)
        run_second_look = RunSecondLook(
            self.work,
            self.watches,
            reader,
            policy=replace(a_policy(), has_second_provider=True),
            clock=lambda: NOW,
            blocks_max=blocks_max,
        )
        checks = (open_watch.check_final, run_second_look.check, self.denying(reader).check)
        return ResumeNetwork(
            self.watches,
            checks={NETWORK: checks},
            take_back_logs={NETWORK: self.taking_back(reader)},
            within=within,
        )

    def verifying(self, reader: FakeReader) -> VerifyDeposits:
        """Return the use case that queries that reader about another provider's deposits."""
        addresses = FollowedAddresses(PostgresTargets(self.engine), NETWORK, set())
        return VerifyDeposits(
            self.work,
            self.watches,
            reader,
            policy=self.policy,
            clock=lambda: NOW,
            addresses=addresses,
        )

    def second_look(self, reader: FakeReader) -> RunSecondLook:
        return RunSecondLook(
            self.work,
            self.watches,
            reader,
            policy=self.policy,
            clock=self.ticking,
            blocks_max=1000,
        )

    async def is_interrupted(self, times: int = 2) -> None:
        """Wait until the follower has been interrupted a number of times from now on."""
        counted = observe.INTERRUPTIONS.labels(NETWORK)._value
        enough = counted.get() + times

        async def has_interrupted() -> bool:
            return bool(counted.get() >= enough)

        await until(has_interrupted)

    @asynccontextmanager
    async def follow(
        self, reader: FakeReader | None = None, *, timings: FollowTimings = SHORT_TIMINGS
    ) -> AsyncIterator[None]:
        """Follow in the background, as one process does, until the block is left."""
        watched: set[str] = set()
        reader = reader or FakeReader(self.chain, watched)
        targets, policy = PostgresTargets(self.engine), self.policy
        find_rise_transactions = FindRiseTransactions(
            self.work, PostgresRises(self.engine), reader, clock=lambda: NOW
        )
        follow_network = FollowNetwork(
            reader,
            self.watches,
            open_watch=OpenWatch(
                self.watches,
                reader,
                check_chain=self.check_chain,
                start_block=a_network().start_block,
            ),
            advance_watch=AdvanceWatch(
                self.work,
                policy=policy,
                clock=self.ticking,
                count_balances=CountBalances(
                    targets,
                    reader,
                    policy=policy,
                    count_schedule=self.count_schedule,
                    watched=watched,
                ),
            ),
            activate_targets=ActivateTargets(
                self.work,
                targets,
                reader,
                addresses=FollowedAddresses(targets, NETWORK, watched),
                policy=policy,
                clock=lambda: NOW,
            ),
            find_rise_transactions=find_rise_transactions if self.explains_rises else None,
            hinted=self.hinted,
            clock=lambda: NOW,
            random=Random(1),
            timings=timings,
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
        return await self.sends(Call(DEPOSITORY, 0, data, 10**6))

    async def sends(self, call: Call) -> SignedTransaction:
        """Add a user's call to the pool."""
        sender, reader = FakeSender(self.chain, USER), FakeReader(self.chain)
        nonce = await reader.pending_nonce(USER)
        signed = await sender.sign(call, nonce=nonce, fees=await reader.fees())
        await sender.broadcast([signed])
        return signed

    async def assigns(self, number: int, *, since: datetime = NOW) -> str:
        """Assign the deposit address of a number; the follower may activate it later."""
        address = address_of(number)
        assigned = DepositTargetAssigned(network=NETWORK, address=address, since=since)
        envelope = DEPOSIT_TARGET_ASSIGNED.seal(
            assigned, version=address, occurred_at=NOW, trace_id="test"
        )
        await RecordTargets(self.work)([envelope])
        self.hinted.set()
        return address

    async def has_activated(self) -> None:
        """Wait until all deposit addresses are activated."""

        async def list_active() -> bool:
            return not await PostgresTargets(self.engine).new(NETWORK, limit=1)

        await until(list_active)

    async def pays(self, intent_id: int, base_units: int = 10) -> SignedTransaction:
        """Add a payment of the Treasury to the pool."""
        payment = Payment(intent_id, USDC, USER, base_units)
        self.chain.give(TREASURY, USDC, base_units)
        self.chain.authorize(USER)
        return await self.sends(Call(TREASURY, 0, encode_pay(payment), 10**6))

    async def sends_coins(self, to_address: str, base_units: int) -> SignedTransaction:
        return await self.sends(Call(to_address, base_units, b"", 30_000))

    async def sends_tokens(self, to_address: str, base_units: int) -> SignedTransaction:
        return await self.sends(Call(USDC, 0, encode_transfer(to_address, base_units), 10**6))

    async def sweeps(self, number: int, token: str) -> SignedTransaction:
        return await self.sends(Call(FACTORY, 0, encode_sweep([Sweep(number, token)]), 10**6))

    async def published_versions(self) -> list[tuple[str, int]]:
        return [(body["state"], body["version"]) for body in await self.messages()]

    async def messages(self) -> list[dict[str, Any]]:
        async with self.engine.connect() as connection:
            payloads = await connection.scalars(sql("SELECT payload FROM outbox ORDER BY id"))
            return [json.loads(payload)["body"] for payload in payloads]

    async def publishes(self, *expected: tuple[str, int]) -> None:
        await until(lambda: self._has_published(list(expected)))

    async def _has_published(self, expected: list[tuple[str, int]]) -> bool:
        return await self.published_versions() == expected

    async def is_at_head(self) -> None:
        await until(self._is_at_head)

    async def _is_at_head(self) -> bool:
        watch = await self.watches.load(NETWORK)
        return watch is not None and watch.cursor == self.chain.blocks[-1]

    async def is_halted(self) -> str:
        async def has_halt() -> bool:
            return await self.watches.find_halt(NETWORK) is not None

        await until(has_halt)
        halt = await self.watches.find_halt(NETWORK)
        assert halt is not None
        return halt.reason


def address_of(number: int) -> str:
    return deposit_address(FACTORY, INIT_CODE_HASH, number)
