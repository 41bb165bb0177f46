"""Coins of one address under random reorgs: each is credited once, for any order of counts."""

from __future__ import annotations

from random import Random
from typing import Final

import pytest
from watch_factories import NETWORK, a_policy
from watch_world import NOW, World

from swap_chain_watcher.adapters.targets import PostgresTargets
from swap_chain_watcher.domain.watch import Watch
from swap_chain_watcher.usecases.advance_watch import AdvanceWatch
from swap_chain_watcher.usecases.count_balances import CountBalances, CountSchedule
from swap_chains.fake import FakeReader, FakeSender
from swap_chains.fake.chain import read_transaction
from swap_chains.ports import Call, SignedTransaction
from swap_domain.catalogue import NATIVE

pytestmark = pytest.mark.connected

NUMBER: Final = 601
REORG_DEPTH_MAX: Final = 4  # below the chain's finality
FINALITY: Final = 6
ROUNDS: Final = 14


class Payers:
    """Accounts that send one transfer each, so that a reorg may mine them in any order."""

    def __init__(self, world: World, watch: Watch, address: str) -> None:
        self.world, self.address = world, address
        self.sent: list[SignedTransaction] = []
        self.units: dict[str, int] = {}
        self._reader = FakeReader(world.chain, {address.lower()})
        coins = CountBalances(
            PostgresTargets(world.engine),
            self._reader,
            policy=a_policy(),
            count_schedule=CountSchedule(),
            watched={address.lower()},
        )
        self._advance = AdvanceWatch(
            world.work, policy=a_policy(), clock=lambda: NOW, count_balances=coins
        )
        self._watch = watch

    async def send(self, base_units: int) -> None:
        """Add a transfer to the pool."""
        payer = f"0x{len(self.sent) + 1:040x}"
        self.world.chain.give(payer, NATIVE, 10**9)
        sender = FakeSender(self.world.chain, payer)
        call = Call(self.address, base_units, b"", 30_000)
        signed = await sender.sign(call, nonce=0, fees=await self._reader.fees())
        await sender.broadcast([signed])
        self.sent.append(signed)
        self.units[signed.transaction_hash] = base_units

    def reorg(self, depth: int, random: Random, *, mines_all: bool) -> None:
        """Replace blocks; their transactions are mined again, at random places and times."""
        blocks = self.world.chain.blocks
        depth = min(depth, len(blocks) - 1)
        lowest = len(blocks) - depth
        gone = [one for one in self.sent if self._mined_in(one) >= lowest]
        again = [one for one in gone if mines_all or random.random() < 0.7]
        at_once = [one for one in again if random.random() < 0.5]
        self.world.chain.reorg(depth, [(one, random.randrange(depth)) for one in at_once])
        for one in again:
            if one not in at_once:
                self.world.chain.submit(read_transaction(one))  # for a later block

    async def follow(self) -> None:
        """Advance to the head, as the follower does."""
        while self._watch.cursor != self.world.chain.blocks[-1]:
            batches = self._reader.follow_batches(
                after=self._watch.cursor, recent=self._watch.recent
            )
            chain_events = await anext(batches)
            await batches.aclose()
            self._watch = await self._advance(self._watch, chain_events, epoch=self.world.epoch)

    def received(self) -> int:
        """Return the sum that the canonical chain has sent to the address."""
        return sum(units for h, units in self.units.items() if self.world.chain.find(h))

    def _mined_in(self, one: SignedTransaction) -> int:
        place = self.world.chain.find(one.transaction_hash)
        return -1 if place is None else place[0].block.number


async def paid_to(world: World, number: int) -> Payers:
    await world.watches.start(NETWORK, world.chain.blocks[0])
    address = await world.assigns(number)
    async with world.work() as work:
        await work.mark_activated(NETWORK, [address])
    watch = await world.watches.load(NETWORK)
    assert watch is not None
    return Payers(world, watch, address)


async def deposits(world: World) -> dict[str, tuple[str, int]]:
    """Return the last state of each deposit, and its amount."""
    rises = [body for body in await world.messages() if body["kind"] == "balance_rose"]
    assert len({(one["deposit_id"], one["base_units"]) for one in rises}) == len(
        {one["deposit_id"] for one in rises}
    ), "an amount changed"
    return {one["deposit_id"]: (one["state"], int(one["base_units"])) for one in rises}


def credited(found: dict[str, tuple[str, int]]) -> int:
    return sum(units for state, units in found.values() if state != "reverted")


async def pay_and_mine(payers: Payers, random: Random, *, mines_all: bool) -> None:
    """Mine transfers and perhaps a sweep, and perhaps replace followed blocks."""
    for _ in range(random.randrange(3)):
        await payers.send(random.randint(1, 9))
    payers.world.chain.mine()
    if random.random() < 0.2:
        await payers.world.sweeps(NUMBER, NATIVE)
    if random.random() < 0.5:
        return
    if random.random() < 0.5:
        await payers.follow()
    payers.reorg(random.randint(1, REORG_DEPTH_MAX), random, mines_all=mines_all)


@pytest.mark.parametrize("mines_all", [True, False], ids=["all mined again", "some dropped"])
@pytest.mark.parametrize("seed", range(12))
@pytest.mark.fault("R5")
async def test_r5_coins_are_credited_once_however_a_reorg_splits_them(
    world: World, seed: int, mines_all: bool
) -> None:
    random = Random(seed)
    payers = await paid_to(world, NUMBER)
    for _ in range(ROUNDS):
        await pay_and_mine(payers, random, mines_all=mines_all)
        if random.random() < 0.8:
            await payers.follow()
            assert credited(await deposits(world)) <= payers.received()
    for _ in range(FINALITY + REORG_DEPTH_MAX):
        world.chain.mine()
        await payers.follow()

    found = await deposits(world)
    assert credited(found) == payers.received()
    if mines_all:
        # A published rise keeps its amount: no part of it becomes another deposit.
        assert {state for state, _ in found.values()} <= {"confirmed"}


@pytest.mark.fault("R5")
async def test_r5_rise_mined_again_in_two_blocks_is_the_same_deposit(world: World) -> None:
    payers = await paid_to(world, NUMBER)
    await payers.send(4)
    await payers.send(6)
    world.chain.mine()
    await payers.follow()
    world.chain.reorg(1, [(payers.sent[0], 0)])
    await payers.follow()
    assert [state for state, _ in (await deposits(world)).values()] == ["reverted"]

    world.chain.submit(read_transaction(payers.sent[1]))
    world.chain.mine()
    await payers.follow()

    assert list((await deposits(world)).values()) == [("seen", 10)]


@pytest.mark.fault("R5")
async def test_r5_a_part_whose_rest_was_replaced_is_published_when_the_rise_is_final(
    world: World,
) -> None:
    payers = await paid_to(world, NUMBER)
    await payers.send(4)
    await payers.send(6)
    world.chain.mine()
    await payers.follow()
    world.chain.reorg(1, [(payers.sent[0], 0)])
    for _ in range(FINALITY):
        await payers.follow()
        assert credited(await deposits(world)) == 0
        world.chain.mine()
    await payers.follow()

    assert credited(await deposits(world)) == 4
