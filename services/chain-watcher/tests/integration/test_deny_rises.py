"""Invented coins at a deposit address: the network halts, and later coins are credited."""

from __future__ import annotations

from typing import Any

import pytest
from false_providers import FIRST, THIRD, correct_reader
from watch_factories import NETWORK, SMALL_TIER_BELOW, a_policy_of_two
from watch_world import SECOND, World, until

from swap_chain_watcher import observe
from swap_chain_watcher.domain.denials import RisesDenied
from swap_chain_watcher.usecases import deny_rises
from swap_chains.fake import FakeReader
from swap_domain.catalogue import NATIVE
from swap_runtime.errors import RequestRefused
from swap_runtime.postgres.sql import sql

pytestmark = pytest.mark.connected

LARGE, SMALL, REAL = SMALL_TIER_BELOW, SMALL_TIER_BELOW // 2, 40


class ReaderWithExtraCoins(FakeReader):
    """A node that adds coins to the balance of an address."""

    extra = LARGE

    async def balances(self, holdings: Any, *, at: Any) -> Any:
        held = await super().balances(holdings, at=at)
        return {holding: units + self.extra for holding, units in held.items()}


class ReaderWithExtraCoinsAt(ReaderWithExtraCoins):
    """A node that adds coins to the balance of one address alone."""

    address = ""

    async def balances(self, holdings: Any, *, at: Any) -> Any:
        honest = await FakeReader.balances(self, holdings, at=at)
        return {
            holding: units + (self.extra if holding.account == self.address else 0)
            for holding, units in honest.items()
        }


class UnavailableReader(FakeReader):
    async def balances_of_each_provider(self, holdings: Any, *, at: Any) -> Any:
        return {}


class Providers(FakeReader):
    """Nodes of several providers."""

    def __init__(self, *readers: FakeReader) -> None:
        super().__init__(readers[-1]._chain, provider=readers[-1]._provider)
        self._readers = readers

    async def balances_of_each_provider(self, holdings: Any, *, at: Any) -> Any:
        reports: dict[str, Any] = {}
        for reader in self._readers:
            reports |= await reader.balances_of_each_provider(holdings, at=at)
        return reports


def reader_with_extra_coins(world: World, extra: int = LARGE) -> ReaderWithExtraCoins:
    false_reader = ReaderWithExtraCoins(world.chain, set(), provider=FIRST)
    false_reader.extra = extra
    return false_reader


async def published_states(world: World) -> list[tuple[str, str]]:
    return [(body["base_units"], body["state"]) for body in await world.messages()]


async def publish_false_coins(world: World, false_reader: ReaderWithExtraCoins) -> str:
    """Publish invented coins in a final block that was read twice."""
    async with world.follow(false_reader):
        world.chain.mine()
        address = await world.assigns(7)
        await world.has_activated()
        world.chain.mine()

        async def has_published() -> bool:
            return await published_states(world) != []

        await until(has_published)
        world.chain.mine(9)
        await world.is_at_head()
    assert await world.second_look(correct_reader(world))()
    await world.verifying(correct_reader(world))()
    return address


async def follow_until_confirmed(world: World, base_units: int) -> None:
    async def is_confirmed() -> bool:
        return (str(base_units), "confirmed") in await published_states(world)

    async with world.follow(correct_reader(world)):
        world.chain.mine(2)
        await world.is_at_head()
        await world.verifying(correct_reader(world))()
        world.chain.mine()
        await until(is_confirmed)


@pytest.fixture
def world(world: World) -> World:
    world.policy = a_policy_of_two()
    return world


@pytest.mark.fault("W1")
async def test_two_that_deny_a_rise_revert_it_and_later_coins_are_credited(world: World) -> None:
    false_reader = reader_with_extra_coins(world)
    address = await publish_false_coins(world, false_reader)
    contradicted = observe.CONTRADICTIONS.labels(NETWORK)._value.get()

    await world.denying(
        Providers(false_reader, correct_reader(world), correct_reader(world, THIRD))
    )()

    assert await published_states(world) == [(str(LARGE), "seen"), (str(LARGE), "reverted")]
    reason = await world.is_halted()
    assert f"still reported by {FIRST}, denied by {SECOND}, {THIRD}" in reason
    assert observe.CONTRADICTIONS.labels(NETWORK)._value.get() == contradicted + 1
    await world.resuming(correct_reader(world))(NETWORK)
    await world.sends_coins(address, REAL)
    await follow_until_confirmed(world, REAL)


@pytest.mark.fault("W1")
async def test_coins_after_the_rise_are_credited_when_it_is_reverted(
    world: World,
) -> None:
    false_reader = reader_with_extra_coins(world)
    address = await publish_false_coins(world, false_reader)
    await world.sends_coins(address, REAL)
    async with world.follow(false_reader):
        world.chain.mine()  # not final
        await world.is_at_head()
    assert await published_states(world) == [(str(LARGE), "seen"), (str(REAL), "seen")]

    await world.denying(Providers(correct_reader(world), correct_reader(world, THIRD)))()

    assert (await published_states(world))[2:] == [
        (str(LARGE), "reverted"),
        (str(REAL), "reverted"),
    ]
    await world.resuming(correct_reader(world))(NETWORK)
    await follow_until_confirmed(world, REAL)
    # They may have arrived at any time since the address was assigned.
    assert (await world.messages())[-1]["came_after"] is not None


@pytest.mark.fault("W1")
async def test_two_providers_that_differ_halt_and_a_third_decides(world: World) -> None:
    false_reader = reader_with_extra_coins(world)
    await publish_false_coins(world, false_reader)

    await world.denying(Providers(false_reader, correct_reader(world)))()

    assert await published_states(world) == [(str(LARGE), "seen")]
    await world.is_halted()
    with pytest.raises(RequestRefused, match=f"denied by {SECOND}"):
        await world.resuming(Providers(false_reader, correct_reader(world)))(NETWORK)
    with pytest.raises(RequestRefused):
        await world.resuming(correct_reader(world))(NETWORK)
    # The lying node's provider is replaced by another one in the configuration.
    await world.denying(Providers(correct_reader(world), correct_reader(world, THIRD)))()
    assert (await published_states(world))[1:] == [(str(LARGE), "reverted")]
    await world.resuming(correct_reader(world))(NETWORK)


@pytest.mark.fault("W1")
async def test_a_small_confirmed_rise_is_reverted_as_well(world: World) -> None:
    false_reader = reader_with_extra_coins(world, extra=SMALL)
    await publish_false_coins(world, false_reader)

    await world.denying(
        Providers(false_reader, correct_reader(world), correct_reader(world, THIRD))
    )()

    states = [state for _, state in await published_states(world)]
    assert states == ["confirmed", "reverted"]
    await world.is_halted()


async def test_denial_by_one_answering_provider_does_not_halt(world: World) -> None:
    false_reader = reader_with_extra_coins(world)
    await publish_false_coins(world, false_reader)

    await world.denying(
        Providers(UnavailableReader(world.chain, provider=FIRST), correct_reader(world))
    )()

    assert await world.watches.find_halt(NETWORK) is None


async def test_rise_that_two_providers_report_is_not_denied_by_a_third(world: World) -> None:
    async with world.follow(correct_reader(world, FIRST)):
        world.chain.mine()
        address = await world.assigns(7)
        await world.has_activated()
        await world.sends_coins(address, LARGE)
        world.chain.mine()
        await world.is_at_head()
        await world.sweeps(7, NATIVE)
        world.chain.mine(9)
        await world.is_at_head()
    assert await world.second_look(correct_reader(world))()
    reader_with_missing_coin = reader_with_extra_coins(world, extra=-1)

    await world.denying(
        Providers(correct_reader(world), correct_reader(world, THIRD), reader_with_missing_coin)
    )()

    assert await world.watches.find_halt(NETWORK) is None


async def test_a_verified_rise_is_not_denied(world: World) -> None:
    false_reader = reader_with_extra_coins(world)
    await publish_false_coins(world, false_reader)
    await world.verifying(false_reader)()

    await world.denying(Providers(correct_reader(world), correct_reader(world, THIRD)))()

    assert await world.watches.find_halt(NETWORK) is None


async def test_a_rise_that_is_verified_meanwhile_is_not_reverted(world: World) -> None:
    false_reader = reader_with_extra_coins(world)
    await publish_false_coins(world, false_reader)

    class LateProviders(Providers):
        async def balances_of_each_provider(self, holdings: Any, *, at: Any) -> Any:
            reports = await super().balances_of_each_provider(holdings, at=at)
            async with world.engine.begin() as connection:
                await connection.execute(sql("UPDATE movement SET verified_at = now()"))
            return reports

    await world.denying(LateProviders(correct_reader(world), correct_reader(world, THIRD)))()

    assert await published_states(world) == [(str(LARGE), "seen")]
    assert await world.watches.find_halt(NETWORK) is None


async def test_a_rise_in_a_block_that_is_not_final_is_not_denied(world: World) -> None:
    async with world.follow(reader_with_extra_coins(world)):
        world.chain.mine()
        await world.assigns(7)
        await world.has_activated()
        world.chain.mine(2)
        await world.is_at_head()

    await world.denying(Providers(correct_reader(world), correct_reader(world, THIRD)))()

    assert await world.watches.find_halt(NETWORK) is None


@pytest.mark.fault("W1")
@pytest.mark.parametrize("made_up", [7, 8])
async def test_every_rise_of_a_block_is_checked_when_a_part_holds_fewer(
    world: World, made_up: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deny_rises, "BATCH_MAX", 1)
    false_reader = ReaderWithExtraCoinsAt(world.chain, set(), provider=FIRST)
    async with world.follow(false_reader):
        world.chain.mine()
        addresses = {number: await world.assigns(number) for number in (7, 8)}
        await world.has_activated()
        world.chain.mine()
        await world.is_at_head()
        false_reader.address = addresses[made_up]
        await world.sends_coins(addresses[15 - made_up], REAL)
        world.chain.mine()
        await world.is_at_head()
        world.chain.mine(9)
        await world.is_at_head()
    blocks = {body["block_number"] for body in await world.messages()}
    assert (len(await published_states(world)), len(blocks)) == (2, 1)
    assert await world.second_look(correct_reader(world))()

    with pytest.raises(RisesDenied):
        await world.denying(Providers(false_reader, correct_reader(world))).check()
