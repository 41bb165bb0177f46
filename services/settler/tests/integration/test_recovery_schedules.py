"""Random restores over two networks: whatever the database lost, each leg is paid once.

The lost period, and the order of lanes, chains, chain-watcher and proofs, are random.
Each step may die. The payments are read only from the chains. `SCHEDULES` says how many restores
there are per ten, `SCHEDULES_SEED` which; `make test-schedules` runs more.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Final

import pytest

from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.integration.test_lane_schedules import Watcher
from services.settler.tests.lane_harness import (
    DESTINATION,
    SIGNER,
    SOURCE,
    World,
    a_deposit,
    a_funding,
    a_recipient,
    a_request,
)
from services.settler.tests.recovery_harness import (
    FEES,
    SLOTS_MAX,
    fencing,
    finishing,
    is_open,
    make_forgotten,
    mark_final_blocks_read,
    proving,
    restore_database,
    watching,
)
from swap_chains.evm.codec import intent_id
from swap_chains.ports import Call, SignedTransaction
from swap_domain.catalogue import NATIVE
from swap_runtime.postgres.database import Engine
from swap_settler.paying.usecases import fence_nonces, send_payouts
from swap_settler.recovery.usecases import prove_recovery
from tests.support.crashes import dying_at

pytestmark = pytest.mark.connected

RESTORES: Final = max(int(os.environ.get("SCHEDULES", "60")) // 10, 1)
SEED: Final = int(os.environ.get("SCHEDULES_SEED", "1"))
SWAPS: Final = SLOTS_MAX  # the maximum of slots in flight
STEPS: Final = 25
ROUNDS_MAX: Final = 12
SIGNER_HERE: Final = a_recipient(50)
LOST_PAYMENTS: Final = ("nothing", "nothing", "output", "refund", "late output", "late refund")
POINTS: Final = (
    "settler.before_fence",
    "settler.after_fence",
    "settler.after_recovery_heads",
    "settler.before_recovery_end",
    "settler.after_recovery_end",
    "settler.after_slot",
    "settler.after_sign",
    "settler.before_send",
    "settler.after_send",
)


class RestoreSchedule:
    """One restore: a lost period, and random actions after it."""

    def __init__(self, there: World, here: World, watcher: Engine, random: Random) -> None:
        self.there, self.here = there, here
        self.sides = (there, here)
        self._watcher = watcher
        self._random = random
        self._watchers = {side.network: Watcher(side) for side in self.sides}
        self._next = {side.network: 0 for side in self.sides}
        self._late: list[tuple[World, SignedTransaction]] = []
        self._undelivered = list(range(1, SWAPS + 1))
        self.newer: list[int] = []

    async def begin(self) -> None:
        """Create the rows of the backup, and then the changes that it lacks."""
        numbers = range(1, SWAPS + 1)
        await self.there.requesting()(
            [a_request(n, refund_address=a_recipient(n)) for n in numbers]
        )
        await self.there.settle(a_funding(10**6))
        await self._receive(self._random.randint(0, SWAPS))
        lost_payments = [self._random.choice(LOST_PAYMENTS) for _ in numbers]
        for n, lost_payment in sorted(
            zip(numbers, lost_payments, strict=True), key=lambda one: "late" in one[1]
        ):
            await self._lose_payment(n, lost_payment)
        for side in self.sides:
            side.chain.mine(4)
        await restore_database(self.there)

    async def _lose_payment(self, number: int, lost_payment: str) -> None:
        if lost_payment == "nothing":
            return
        kind = lost_payment.removeprefix("late ")
        side = self.there if kind == "output" else self.here
        if "late" not in lost_payment and self._random.random() < 0.3:
            await self._no_op(side)
        sent = await make_forgotten(side, number, kind, nonce=self._take(side))
        if "late" in lost_payment:
            side.chain.drop(sent.transaction_hash)  # until its holder sends it
            self._late.append((side, sent))

    def _take(self, side: World) -> int:
        self._next[side.network] += 1
        return self._next[side.network] - 1

    async def _no_op(self, side: World) -> None:
        call = Call(side.signer, 0, b"", 21_000)
        await side.sender.broadcast(
            [await side.sender.sign(call, nonce=self._take(side), fees=FEES)]
        )

    async def step(self) -> None:
        """Run one actor once, which may crash."""
        turns = (
            *(self.send, self.mine, self.close, self.fence, self.prove, self.read),
            *(self.rebroadcast, self.replace, self.refund, self.late, self.new),
        )
        point = self._random.choice(POINTS) if self._random.random() < 0.3 else ""
        with dying_at(point, fence_nonces, prove_recovery, send_payouts):
            await self._random.choice(turns)()

    async def run_round(self) -> None:
        """Run every actor once."""
        for turn in (self.read, self.refund, self.prove):
            await turn()
        for side in self.sides:
            await fencing(side)(epoch=side.epoch)
            await side.send_everything()
            await side.replacing()(epoch=side.epoch)
            await side.rebroadcast()
            side.chain.mine(4)
            await side.close_slots()

    async def read(self) -> None:
        """Deliver all final facts of the chains, and record this at the chain-watcher."""
        await self._receive(len(self._undelivered))
        for side in self.sides:
            await self._watchers[side.network].report()
        await mark_final_blocks_read(self._watcher, *self.sides)

    async def _receive(self, count: int) -> None:
        received, self._undelivered = self._undelivered[:count], self._undelivered[count:]
        if received:
            await self.there.settle(*(a_deposit(n) for n in received))

    async def prove(self) -> None:
        await proving(*self.sides)()

    async def refund(self) -> None:
        await self.here.starting_refunds()()

    async def late(self) -> None:
        if self._late:
            side, sent = self._random.choice(self._late)
            await side.sender.broadcast([sent])

    async def new(self) -> None:
        """Request a swap that is newer than the recovery, with its deposit."""
        number = SWAPS + len(self.newer) + 1
        self.newer.append(number)
        await self.there.request_swap(number)
        await self.there.rows(
            f"UPDATE swap SET created_at = now() WHERE sequence_number = {number} RETURNING 1"
        )
        await self.there.settle(a_deposit(number))

    async def send(self) -> None:
        side = self._side()
        await side.new_process()(epoch=side.epoch)

    async def mine(self) -> None:
        self._side().chain.mine(self._random.randint(1, 3))

    async def close(self) -> None:
        await self._side().close_slots()

    async def fence(self) -> None:
        side = self._side()
        await fencing(side)(epoch=side.epoch)

    async def rebroadcast(self) -> None:
        await self._side().rebroadcast()

    async def replace(self) -> None:
        side = self._side()
        await side.replacing()(epoch=side.epoch)

    def _side(self) -> World:
        return self._random.choice(self.sides)

    def payments(self) -> Counter[int]:
        """Return how often each swap was paid, out or back."""
        ids = Counter(int(log.intent_id) for w in self._watchers.values() for log in w.paid())
        return Counter(
            {
                n: sum(ids[intent_id(a_request(n).body.swap_id, k, "main")] for k in KINDS)
                for n in range(1, SWAPS + len(self.newer) + 1)
            }
        )


KINDS: Final = ("output", "refund")


@pytest.mark.breaks_invariants("I-14", "I-27")  # a lost payment needs an operator
@pytest.mark.parametrize("seed", range(SEED, SEED + RESTORES))
@pytest.mark.fault("P6")
async def test_p6_each_leg_is_paid_once(
    watcher: Engine, migrate_schema: Callable[[str], str], seed: int
) -> None:
    async with restoring(watcher, migrate_schema("settler"), Random(seed)) as restore:
        await restore.begin()
        for _ in range(STEPS):
            await restore.step()
            assert max(restore.payments().values()) <= 1
        rounds = 0
        while await is_open(restore.there) and rounds < ROUNDS_MAX:
            await restore.run_round()
            rounds += 1
        assert not await is_open(restore.there)
        for _ in range(2):
            await restore.late()
            await restore.run_round()

        assert set(restore.payments().values()) == {1}
        retained = await finishing(restore.there).list_retained()
        unpaid = await restore.there.rows("SELECT swap_id FROM intent WHERE state = 'reserved'")
        assert {row.swap_id for row in unpaid} <= {one.swap_id for one in retained}
        halted = await restore.there.rows("SELECT FROM signer WHERE halted_reason IS NOT NULL")
        assert list(halted) == []


@asynccontextmanager
async def restoring(watcher: Engine, url: str, random: Random) -> AsyncIterator[RestoreSchedule]:
    async with (
        opened_world(url, DESTINATION) as there,
        opened_world(url, SOURCE, beside_another=True, signer=SIGNER_HERE) as here,
    ):
        there.chain.give(SIGNER, NATIVE, 10**18)
        here.chain.give(SIGNER_HERE, NATIVE, 10**18)
        for side in (there, here):
            await side.close_slots()
        yield RestoreSchedule(there, here, watcher, random)
        await watching(there)()
