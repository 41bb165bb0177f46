"""Logs that one node made up: the network halts, they are reverted, and it can be resumed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from lying_reader import (
    Change,
    LyingReader,
    adding,
    inventing,
    paying,
    sweeping,
    with_another_memo,
)
from watch_factories import NETWORK, SMALL_TIER_BELOW, USDC, a_policy_of_two, a_sweep
from watch_world import SECOND, World, until

from swap_chains.evm.memos import encode_memo, encode_transfer_with_memo
from swap_chains.fake import FakeReader
from swap_chains.ports import Call
from swap_domain.catalogue import NATIVE
from swap_runtime.errors import Refused
from swap_runtime.sql import sql

pytestmark = pytest.mark.connected

FIRST, THIRD = "first.example", "third.example"
LARGE, SMALL = SMALL_TIER_BELOW, SMALL_TIER_BELOW // 2


class Providers(FakeReader):
    """Nodes of several providers. The last one answers what one node is asked."""

    def __init__(self, *readers: FakeReader) -> None:
        super().__init__(readers[-1]._chain, provider=readers[-1]._provider)
        self._readers = readers

    async def movements(self, **place: Any) -> Any:
        return await self._readers[-1].movements(**place)

    async def movements_of_each_provider(self, **place: Any) -> Any:
        reports: dict[str, Any] = {}
        for reader in self._readers:
            reports |= await reader.movements_of_each_provider(**place)
        return reports


class TwoBalances(FakeReader):
    async def balances_of_each_provider(self, holdings: Any, *, at: Any) -> Any:
        held = await self.balances(holdings, at=at)
        return {SECOND: held, THIRD: held}


def honest(world: World, provider: str = SECOND) -> FakeReader:
    return FakeReader(world.chain, provider=provider)


def lying(world: World, change: Change, provider: str = FIRST) -> LyingReader:
    return LyingReader(world.chain, change, provider=provider)


async def follow(world: World, reader: FakeReader, blocks: int = 9) -> None:
    async with world.followed(reader):
        world.chain.mine(blocks)
        await world.is_at_head()


async def states(world: World) -> list[str]:
    return [state for state, _ in await world.said()]


@pytest.fixture
def world(world: World) -> World:
    world.policy = a_policy_of_two()
    return world


@pytest.mark.fault("W1")
@pytest.mark.parametrize("change", [inventing(LARGE), paying, sweeping])
async def test_a_log_that_two_deny_is_reverted_and_the_network_can_be_resumed(
    world: World, change: Change
) -> None:
    liar = lying(world, change)
    await follow(world, liar)
    before = await states(world)

    providers = Providers(liar, honest(world, THIRD), honest(world))
    assert not await world.second_look(providers)()

    assert await states(world) == [*before, "reverted"]
    reason = await world.is_halted()
    assert f"still reported by {FIRST}, denied by {SECOND}, {THIRD}" in reason
    await world.resuming(honest(world))(NETWORK)
    assert await world.second_look(honest(world))() is False  # the check has passed them
    async with world.followed(honest(world)):
        await world.deposits(8, SMALL)
        world.chain.mine(2)
        await until(lambda: is_confirmed(world, SMALL))


async def is_confirmed(world: World, base_units: int) -> bool:
    bodies = await world.messages()
    return (str(base_units), "confirmed") in [(b["base_units"], b["state"]) for b in bodies]


@pytest.mark.fault("W1")
async def test_one_against_one_halts_and_the_next_provider_decides(world: World) -> None:
    liar = lying(world, inventing(LARGE))
    await follow(world, liar)

    assert not await world.second_look(Providers(liar, honest(world)))()

    assert await states(world) == ["seen"]
    assert f"still reported by {FIRST}, denied by {SECOND}" in await world.is_halted()
    assert not await world.second_look(Providers(liar, honest(world)))()
    # The liar is taken out of the configuration, and another provider takes its place.
    with pytest.raises(Refused, match="lack 1 of the movements"):
        await world.resuming(honest(world, THIRD))(NETWORK)
    assert not await world.second_look(Providers(honest(world), honest(world, THIRD)))()
    assert await states(world) == ["seen", "reverted"]
    assert await world.watches.find_halt(NETWORK) is not None
    await world.resuming(honest(world))(NETWORK)
    assert await world.watches.find_halt(NETWORK) is None


@pytest.mark.fault("W1")
async def test_a_small_deposit_that_was_confirmed_is_taken_back_as_well(world: World) -> None:
    await follow(world, lying(world, inventing(SMALL)))
    assert await states(world) == ["confirmed"]

    await world.second_look(Providers(honest(world, THIRD), honest(world)))()

    assert await states(world) == ["confirmed", "reverted"]
    await world.resuming(honest(world))(NETWORK)


async def test_what_two_report_stays_although_another_hides_it(world: World) -> None:
    async with world.followed(honest(world, FIRST)):
        await world.deposits(7, LARGE)
        world.chain.mine(9)
        await world.is_at_head()
    hiding = lying(world, lambda _: (), SECOND)
    blind = lying(world, lambda _: (), "blind.example")

    providers = Providers(honest(world, FIRST), honest(world, THIRD), blind, hiding)
    assert not await world.second_look(providers)()

    assert await states(world) == ["seen"]
    reason = await world.is_halted()
    assert f"still reported by {FIRST}, {THIRD}, denied by blind.example, {SECOND}" in reason


async def test_what_two_providers_have_reported_is_not_reverted(world: World) -> None:
    liar = lying(world, inventing(LARGE))
    await follow(world, liar)
    await world.verifying(lying(world, inventing(LARGE), SECOND))()

    await world.second_look(Providers(honest(world), honest(world, THIRD)))()

    assert await states(world) == ["seen"]
    await world.is_halted()


@pytest.mark.fault("W1")
async def test_the_deposit_of_another_memo_is_published_with_its_own(world: World) -> None:
    async with world.followed(lying(world, with_another_memo)):
        treasury = world.policy.network.contracts.treasury
        data = encode_transfer_with_memo(treasury, LARGE, encode_memo(8))
        await world.sends(Call(USDC, 0, data, 10**6))
        world.chain.mine(9)
        await world.is_at_head()

    await world.second_look(Providers(honest(world, THIRD), honest(world)))()
    assert await states(world) == ["seen", "reverted"]
    await world.resuming(honest(world))(NETWORK)

    lie, _, *own = await world.messages()
    memo = f"0x{encode_memo(8).hex()}"
    assert [(body["state"], body["version"], body["memo"]) for body in own] == [("seen", 3, memo)]
    assert own[0]["deposit_id"] == lie["deposit_id"]
    async with world.followed(honest(world)):
        await world.verifying(honest(world, THIRD))()
        world.chain.mine()
        await world.says(("seen", 1), ("reverted", 2), ("seen", 3), ("confirmed", 4))
    async with world.engine.connect() as connection:
        memos = list(await connection.scalars(sql("SELECT memo FROM movement")))
    assert memos == [memo]


async def test_a_deposit_that_two_have_not_indexed_is_published_again(world: World) -> None:
    async with world.followed(honest(world, FIRST)):
        await world.deposits(7, LARGE)
        world.chain.mine(9)
        await world.is_at_head()
    late = [lying(world, lambda _: (), provider) for provider in (THIRD, SECOND)]
    await world.second_look(Providers(*late))()
    assert await states(world) == ["seen", "reverted"]

    await world.resuming(honest(world))(NETWORK)

    assert await states(world) == ["seen", "reverted", "seen"]


async def test_a_false_block_of_a_real_deposit_takes_nothing_back(world: World) -> None:
    """It is mined in a later block than the node has reported, and published there since."""
    signed = await world.deposits(7, LARGE)
    world.chain.mine()
    [added] = await honest(world).movements(first=1, last=world.chain.blocks[1])
    world.chain = world.a_chain()
    await follow(world, lying(world, adding(*added.movements)), 1)
    async with world.followed(honest(world, FIRST)):
        await world.deposits(7, LARGE)
        world.chain.mine(9)
        await world.is_at_head()
    assert signed.transaction_hash == (await world.messages())[-1]["transaction_hash"]
    assert await world.said() == [("seen", 1), ("seen", 2)]

    await world.second_look(Providers(honest(world), honest(world, THIRD)))()

    await world.is_halted()
    assert await world.said() == [("seen", 1), ("seen", 2)]
    await world.resuming(honest(world))(NETWORK)
    assert await world.said() == [("seen", 1), ("seen", 2)]


@pytest.mark.fault("W1")
async def test_coins_that_a_false_sweep_took_count_as_never_swept(world: World) -> None:
    """They count as received while the sweep is published; then two providers deny them too."""
    liar = lying(world, lambda added: added.movements)
    async with world.followed(liar):
        address = await world.assigns(7)
        await world.has_activated()
        false = a_sweep("invented", LARGE, token=NATIVE, from_address=address)
        at = world.chain.blocks[-1].number + 1
        liar.change = adding(false, at=at)
        world.chain.mine(2)
        await until(lambda: has_rise(world))
        world.chain.mine(9)
        await world.is_at_head()
    providers = Providers(honest(world, THIRD), honest(world))
    await world.second_look(providers)()
    with pytest.raises(Refused, match="rises of coins"):
        await world.resuming(providers)(NETWORK)

    await world.denying(TwoBalances(world.chain))()

    states = [(body["kind"], body["state"]) for body in await world.messages()]
    assert ("swept", "reverted") in states
    assert ("balance_rose", "reverted") in states
    await world.resuming(providers)(NETWORK)


async def has_rise(world: World) -> bool:
    return any(body["kind"] == "balance_rose" for body in await world.messages())


async def test_a_network_that_is_not_halted_is_left_alone(world: World) -> None:
    await follow(world, lying(world, inventing(LARGE)))

    await world.denying_logs(Providers(honest(world), honest(world, THIRD)))()

    assert await states(world) == ["seen"]
    assert await world.watches.find_halt(NETWORK) is None


async def test_one_provider_alone_reverts_nothing(world: World) -> None:
    await follow(world, lying(world, inventing(LARGE)))
    await world.second_look(honest(world))()
    await world.is_halted()

    alone = replace(world.policy, has_second_provider=False)
    await world.denying_logs(honest(world), policy=alone)()
    await world.denying_logs(honest(world))()

    assert await states(world) == ["seen"]
