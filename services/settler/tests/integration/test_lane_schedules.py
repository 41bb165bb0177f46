"""Schedules at random over two lanes: each swap is paid out or back once, or is owed.

Twenty swaps share one schedule of random steps on the lanes of payouts and refunds. It uses the
real use cases, a real Postgres, and chains that mine, revert, drop, reorg and finalize
automatically. A lane may die at each of its steps. The payments are read only from the chains.
`SCHEDULES` is the number of swaps over all schedules, `SCHEDULES_SEED` the seed;
`make test-schedules` runs 1,000.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from random import Random
from typing import Final

import pytest

from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.lane_harness import (
    DESTINATION,
    NOW,
    PAYOUT,
    REQUESTED,
    SOURCE,
    World,
    a_deposit,
    a_funding,
    a_recipient,
    a_request,
    expect_wrong_nonces,
)
from services.settler.tests.recovery_harness import fencing
from swap_chains.events import Block
from swap_chains.evm import codec
from swap_chains.fake.execution import EmittedLog
from swap_chains.ports import SignedTransaction
from swap_contracts.envelope import Envelope
from swap_contracts.payouts import PayoutChanged
from swap_contracts.topics import DEPOSIT_CHANGED, PAYOUT_CHANGED
from swap_domain.catalogue import NATIVE
from swap_runtime.postgres.sql import Row
from swap_settler.model.messages.message_mapping import MessageMapper
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from swap_settler.paying.usecases import replace_stuck, send_payouts
from swap_settler.settling.decide.deposits import NotReversible
from swap_settler.settling.usecases import start_refunds
from swap_settler.settling.usecases.settle_payouts import SettlePayouts
from tests.support.crashes import dying_at

pytestmark = pytest.mark.connected

SWAPS: Final = 20  # at once
SCHEDULES: Final = int(os.environ.get("SCHEDULES", "100"))
SEED: Final = int(os.environ.get("SCHEDULES_SEED", "1"))
ACTS_PER_SWAP: Final = 8
ROUNDS_MAX: Final = 40
SWAP_STEPS: Final = (
    "deposit",
    "deposit",
    "deposit",
    "reorg_deposit",
    "address",
    "refuse",
    "accept",
)
LANE_STEPS: Final = (
    "send", "send", "send", "crash", "crash", "rebroadcast", "replace", "raise_fees", "lower_fees",
    "mine", "mine", "mine", "forget", "reorg", "close", "close", "report", "report",
    "start_refunds", "start_refunds",
)  # fmt: skip
POINTS: Final = (
    "settler.after_slot", "settler.after_sign", "settler.before_send", "settler.after_send",
    "settler.after_replacement", "settler.before_refund",
)  # fmt: skip
BASE_FEE: Final = 10**9
UNDER_WAY: Final = """
SELECT id::text, state FROM intent WHERE state NOT IN ('confirmed', 'dead')
UNION ALL SELECT swap_id::text, 'refund due' FROM refund_due
"""
SWAPS_NOW: Final = """
SELECT sequence_number AS number, status,
    (SELECT coalesce(sum(-balance), 0) FROM account
     WHERE kind = 'claimable' AND swap_id = swap.id) AS claimable,
    EXISTS (SELECT 1 FROM deposit WHERE swap_id = swap.id AND state = 'credited') AS is_credited,
    EXISTS (SELECT 1 FROM intent WHERE swap_id = swap.id AND state = 'confirmed'
            AND deposit_id IS NOT NULL) AS is_refunded_separately
FROM swap ORDER BY number
"""
MAKE_DUE: Final = "UPDATE intent SET due_at = now() WHERE state = 'reserved' RETURNING id"
HALTED: Final = "SELECT halted_reason FROM signer WHERE halted_reason IS NOT NULL"


@contextmanager
def killed_at(point: str) -> Iterator[None]:
    """Kill the lane at a point, if it reaches it."""
    with dying_at(point, send_payouts, replace_stuck, start_refunds) as patch:
        if point == "settler.after_slot":
            # Nothing signed in advance fits then: the lane dies with slots without bytes.
            expect_wrong_nonces(patch)
        yield


class Watcher:
    """Publishes a chain's facts about payments, each change once."""

    def __init__(self, world: World) -> None:
        self._chain = world.chain
        self._versions: Counter[str] = Counter()
        self._reported: dict[str, PayoutChanged] = {}
        self._settle = SettlePayouts(
            PostgresUnitOfWork(world.engine, consumer="settler"),
            clock=world.clock,
            mapper=MessageMapper(world.catalogue),
            swap_messages=world.swap_messages,
        )

    async def report(self) -> None:
        there = {log.intent_id: log for log in self.paid()}
        gone = [
            known.model_copy(update={"state": "reverted"})
            for key, known in self._reported.items()
            if key not in there and known.state != "reverted"
        ]
        messages = [self._next(log) for log in (*there.values(), *gone) if self._is_newer(log)]
        if messages:
            await self._settle(messages)

    def paid(self) -> Iterator[PayoutChanged]:
        """Return what the chain has paid, block by block."""
        for block in self._chain.blocks:
            for transaction_hash, (_, outcome) in self._chain.mined_at(block).outcomes.items():
                for log in outcome.logs:
                    if log.topics[0] == codec.PAID:
                        yield self._read(log, transaction_hash, block)

    def _read(self, log: EmittedLog, transaction_hash: str, block: Block) -> PayoutChanged:
        is_final = block.number <= self._chain.finalized_number
        return PayoutChanged(
            intent_id=str(int(log.topics[1], 16)),
            version=1,
            state="confirmed" if is_final else "seen",
            network=self._chain.network,
            transaction_hash=transaction_hash,
            block_number=block.number,
            block_hash=block.hash,
            block_time=block.time,
            token=NATIVE,
            to_address=codec.checksum_address("0x" + log.topics[3][-40:]),
            base_units=str(int(log.data, 16)),
        )

    def _is_newer(self, log: PayoutChanged) -> bool:
        known = self._reported.get(log.intent_id)
        return known is None or known.model_copy(update={"version": 1}) != log.model_copy(
            update={"version": 1}
        )

    def _next(self, log: PayoutChanged) -> Envelope[PayoutChanged]:
        self._versions[log.intent_id] += 1
        version = self._versions[log.intent_id]
        self._reported[log.intent_id] = reported = log.model_copy(update={"version": version})
        return PAYOUT_CHANGED.seal(reported, version=version, occurred_at=NOW, trace_id="t")


class Side:
    """One network: its lane, which may die at any step, its chain, and its chain-watcher."""

    def __init__(self, world: World, random: Random) -> None:
        self.world = world
        self.watcher = Watcher(world)
        self._random = random
        self.start_anew()

    def start_anew(self) -> None:
        """Replace the lane by a new process without state."""
        self._send = self.world.new_process()
        self._replace = self.world.replacing()
        self._close = self.world.closing()

    async def send(self) -> None:
        await self._send(epoch=self.world.epoch)

    async def crash(self) -> None:
        with killed_at(self._random.choice(POINTS)):
            await self._random.choice((self.send, self.replace, self.start_refunds))()
        self.start_anew()

    async def rebroadcast(self) -> None:
        await self.world.rebroadcast()

    async def replace(self) -> None:
        await self._replace(epoch=self.world.epoch)

    async def close(self) -> None:
        await self._close(epoch=self.world.epoch)

    async def report(self) -> None:
        await self.watcher.report()

    async def start_refunds(self) -> None:
        if self.world.network == SOURCE:
            await self.world.starting_refunds()()

    async def mine(self) -> None:
        self.world.chain.mine(self._random.randint(1, 3))

    async def raise_fees(self) -> None:
        self.world.chain.base_fee = 10 * BASE_FEE

    async def lower_fees(self) -> None:
        self.world.chain.base_fee = BASE_FEE

    async def forget(self) -> None:
        if pool := sorted(self.world.chain.pool):
            self.world.chain.drop(self._random.choice(pool))

    async def reorg(self) -> None:
        """Replace blocks that are not final: their transactions are gone, or mined again.

        Another transaction of the same nonce may be mined this time.
        """
        chain = self.world.chain
        depth = min(self._random.randint(1, 2), len(chain.blocks) - 1)
        query = (
            f"SELECT transaction_hash, raw, nonce FROM attempt WHERE network = '{chain.network}'"
        )
        rows = sorted(await self.world.rows(query), key=lambda row: row.transaction_hash)
        self._random.shuffle(rows)
        again = [
            SignedTransaction(row.transaction_hash, bytes(row.raw), row.nonce)
            for row in sorted(rows, key=lambda row: row.nonce)
        ]
        if depth:
            chain.reorg(depth, [(one, 0) for one in again] if self._random.random() < 0.5 else ())

    async def fence(self) -> None:
        """Assign the nonces that a recovery closes, as the lane does; `model_world.py` uses it."""
        if await fencing(self.world)(epoch=self.world.epoch):
            self._send.expect_unsigned_slots()

    async def run_round(self) -> None:
        """Run the lane and its chain until no work is due at this time."""
        self.world.chain.base_fee = BASE_FEE
        await self.start_refunds()
        while await self._send(epoch=self.world.epoch):
            pass
        for _ in range(2):
            await self.replace()
            await self.rebroadcast()
            self.world.chain.mine(2)
        await self.close()
        await self.report()


class ScheduleRun:
    """Swaps with their deposits, and the two lanes that pay out and refund."""

    def __init__(self, there: World, here: World, random: Random) -> None:
        self.there = Side(there, random)
        self.here = Side(here, random)
        self.random = random
        self._world = here
        self._versions: Counter[int] = Counter()

    async def begin(self) -> None:
        """Request swaps, with inventory that may be enough to pay them."""
        requests = [
            a_request(n, refund_address=a_recipient(n) if self.random.random() < 0.6 else None)
            for n in range(1, SWAPS + 1)
        ]
        await self._world.requesting()(requests)
        for n in range(1, SWAPS + 1):
            if self.random.random() < 0.3:
                await self.refuse(n)
        units = str(self.random.choice((SWAPS, SWAPS, SWAPS // 2)) * PAYOUT)
        body = a_funding(10**6).body.model_copy(update={"base_units": units})
        funding = DEPOSIT_CHANGED.seal(body, version=body.version, occurred_at=NOW, trace_id="t")
        await self._world.settle(funding)

    async def take_random_step(self) -> None:
        # A swap's step is for one swap of twenty: with their plain share, two in five would get no
        # deposit.
        if self.random.random() < len(SWAP_STEPS) / (len(SWAP_STEPS) + len(LANE_STEPS)) + 0.2:
            await getattr(self, self.random.choice(SWAP_STEPS))(self.random.randint(1, SWAPS))
        else:
            side = self.random.choice((self.there, self.here))
            await getattr(side, self.random.choice(LANE_STEPS))()

    async def deposit(self, number: int) -> None:
        await self._deposit(number, "confirmed")

    async def reorg_deposit(self, number: int) -> None:
        if self._versions[number]:
            await self._deposit(number, "reverted")

    async def _deposit(self, number: int, state: str) -> None:
        self._versions[number] += 1
        with suppress(NotReversible):  # cases for an operator
            message = a_deposit(number, version=self._versions[number], state=state)
            await self._world.settle(message)

    async def address(self, number: int) -> None:
        await self._world.refund_address(number, a_recipient(number))

    async def refuse(self, number: int) -> None:
        side = self.random.choice((self.there, self.there, self.here))
        side.world.chain.refuse(a_recipient(number))

    async def accept(self, number: int) -> None:
        side = self.random.choice((self.there, self.here))
        side.world.chain.refuse(a_recipient(number), refuses=False)

    async def run_until_idle(self) -> None:
        for _ in range(ROUNDS_MAX):
            await self._world.rows(MAKE_DUE)
            for side in (self.there, self.here):
                await side.run_round()
            if not await self._world.rows(UNDER_WAY):
                return
        raise AssertionError(f"it is never idle: {await self._world.rows(UNDER_WAY)}")

    async def check(self) -> Counter[str]:
        """Compare the chains' payments with the settler's rows; return how swaps ended."""
        assert await self._world.rows(HALTED) == []
        out, back = (
            Counter(log.to_address for log in side.watcher.paid())
            for side in (self.there, self.here)
        )
        ends: Counter[str] = Counter()
        for swap in await self._world.rows(SWAPS_NOW):
            to = a_recipient(int(swap.number))
            # Never both, and nothing twice.
            assert out[to] + back[to] <= 1
            # Exactly one of them, or it is owed.
            is_owed = swap.is_credited and not out[to] and not back[to]
            assert swap.status in self._ends(swap, is_out=out[to] > 0, is_back=back[to] > 0)
            assert int(swap.claimable) == (REQUESTED if is_owed else 0)
            assert self.there.world.paid_amount(int(swap.number)) == (PAYOUT if out[to] else 0)
            ends[swap.status] += 1
        return ends

    def _ends(self, swap: Row, *, is_out: bool, is_back: bool) -> Collection[str]:
        """Return the possible endings of a swap, given the movements of its money."""
        if is_out:
            return ["completed"]
        if is_back:
            # A deposit that a reorg removed after the end and then restored is a separate leg.
            return ["failed" if swap.is_refunded_separately else "refunded"]
        # After a final removal a swap is pending again, or stays failed if it had ended.
        return ["failed"] if swap.is_credited else ["user_transfer_pending", "failed"]


@asynccontextmanager
async def opened(url: str, random: Random) -> AsyncIterator[ScheduleRun]:
    async with (
        opened_world(url, DESTINATION) as there,
        opened_world(url, SOURCE, beside_another=True) as here,
    ):
        yield ScheduleRun(there, here, random)


@pytest.mark.parametrize("schedule", range(-(-SCHEDULES // SWAPS)))
async def test_every_swap_is_paid_out_or_back_or_owed(
    migrate_schema: Callable[[str], str], schedule: int
) -> None:
    random = Random(f"{SEED}/{schedule}")
    async with opened(migrate_schema("settler"), random) as schedule_run:
        await schedule_run.begin()
        for _ in range(SWAPS * ACTS_PER_SWAP):
            await schedule_run.take_random_step()
        await schedule_run.run_until_idle()

        ends = await schedule_run.check()
        assert len(ends) > 1, "schedules that differ end differently"
