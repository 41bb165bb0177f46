"""Deposit addresses: value is published once, whatever its way and time of arrival."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from watch_factories import NETWORK, TREASURY, USDC, USER
from watch_world import NOW, World, address_of

from swap_chain_watcher import observe
from swap_chain_watcher.usecases.count_balances import CountSchedule
from swap_chains.errors import ChainUnavailable
from swap_chains.fake import FakeReader
from swap_domain.catalogue import NATIVE
from swap_runtime.postgres.sql import sql
from tests.support.waiting import until

pytestmark = pytest.mark.connected


async def published_states(world: World, address: str) -> list[tuple[str, str, str]]:
    bodies = await world.messages()
    return [(b["kind"], b["state"], b["base_units"]) for b in bodies if b["to_address"] == address]


async def publishes(world: World, address: str, *expected: tuple[str, str, str]) -> None:
    async def is_published() -> bool:
        return await published_states(world, address) == list(expected)

    try:
        await until(is_published)
    except AssertionError:  # shows the difference
        assert await published_states(world, address) == list(expected)


class TestTokens:
    async def test_are_seen_and_confirmed(self, world: World) -> None:
        async with world.follow():
            address = await world.assigns(501)
            await world.has_activated()
            await world.sends_tokens(address, 70)
            world.chain.mine()
            await publishes(world, address, ("token_transfer", "seen", "70"))
            world.chain.mine()
            await world.is_at_head()

        body = (await world.messages())[-1]
        assert (body["state"], body["from_address"], body["memo"]) == ("confirmed", USER, None)

    @pytest.mark.fault("W24")
    async def test_w24_sent_before_the_address_was_assigned_are_found(self, world: World) -> None:
        async with world.follow():
            await world.sends_tokens(address_of(502), 30)
            world.chain.mine(2)
            await world.sends_tokens(address_of(502), 31)
            world.chain.mine(20)  # the first is final, and blocks after it were skipped
            await world.sends_tokens(address_of(502), 32)
            world.chain.mine()
            await world.is_at_head()
            address = await world.assigns(502)
            await world.has_activated()
            world.chain.mine()
            await world.is_at_head()

        # All movements of one address are seen before any of them is final.
        whole = [(one, state) for _, state, one in await published_states(world, address)]
        assert whole == [(one, s) for s in ("seen", "confirmed") for one in ("30", "31", "32")]

    async def test_are_found_while_the_watcher_was_down(self, world: World) -> None:
        async with world.follow():
            address = await world.assigns(503)
            await world.has_activated()
            world.chain.mine()
            await world.is_at_head()
        await world.sends_tokens(address, 9)
        world.chain.mine(3)

        async with world.follow():
            await publishes(world, address, ("token_transfer", "confirmed", "9"))

    async def test_of_unassigned_addresses_are_not_published(self, world: World) -> None:
        async with world.follow():
            await world.sends_tokens(address_of(504), 9)
            world.chain.mine(2)
            await world.is_at_head()

        assert await world.messages() == []


class TestCoins:
    @pytest.mark.fault("W20")
    async def test_w20_are_counted_with_their_block(self, world: World) -> None:
        async with world.follow():
            address = await world.assigns(511)
            await world.has_activated()
            await world.sends_coins(address, 900)
            world.chain.mine()
            await publishes(world, address, ("balance_rose", "seen", "900"))
            await world.sends_coins(address, 50)
            world.chain.mine()
            await world.is_at_head()

        [first, confirmed, second] = await world.messages()
        assert (first["block_number"], first["token"]) == (1, NATIVE)
        assert (first["transaction_hash"], first["from_address"]) == (None, None)
        assert (confirmed["deposit_id"], confirmed["state"]) == (first["deposit_id"], "confirmed")
        assert (second["base_units"], second["state"]) == ("50", "seen")

    @pytest.mark.fault("W24")
    async def test_w24_that_existed_before_the_address_was_assigned_are_found(
        self, world: World
    ) -> None:
        async with world.follow():
            await world.sends_coins(address_of(512), 77)
            world.chain.mine(9)
            await world.is_at_head()
            address = await world.assigns(512)
            await world.has_activated()
            world.chain.mine()
            await publishes(world, address, ("balance_rose", "seen", "77"))

    async def test_that_arrive_with_a_sweep_of_the_same_amount_are_published(
        self, world: World
    ) -> None:
        async with world.follow():
            address = await world.assigns(513)
            await world.has_activated()
            await world.sends_coins(address, 40)
            world.chain.mine()
            await publishes(world, address, ("balance_rose", "seen", "40"))
            await world.sweeps(513, NATIVE)
            await world.sends_coins(address, 40)
            world.chain.mine()
            await world.is_at_head()

        rises = [one for one in await published_states(world, address) if one[1] == "seen"]
        assert rises == [("balance_rose", "seen", "40")] * 2
        ids = {b["deposit_id"] for b in await world.messages() if b["kind"] == "balance_rose"}
        assert len(ids) == 2

    async def test_mined_again_after_a_reorg_are_the_same_deposit(self, world: World) -> None:
        async with world.follow():
            address = await world.assigns(514)
            await world.has_activated()
            one = await world.sends_coins(address, 10)
            world.chain.mine()
            await publishes(world, address, ("balance_rose", "seen", "10"))
            two = await world.sends_coins(address, 5)
            world.chain.mine()
            await world.is_at_head()
            world.chain.reorg(2, [(one, 1), (two, 1)])
            await world.is_at_head()
            world.chain.mine()
            await world.is_at_head()

        bodies = await world.messages()
        words: dict[str, list[str]] = {}
        for body in bodies:
            words.setdefault(body["base_units"], []).append(body["state"])
        assert words["10"] == ["seen", "confirmed", "reverted", "seen", "confirmed"]
        assert words["5"] == ["seen", "reverted", "seen", "confirmed"]
        assert len({body["deposit_id"] for body in bodies}) == 2

    async def test_that_a_reorg_removes_are_reverted(self, world: World) -> None:
        async with world.follow():
            address = await world.assigns(515)
            await world.has_activated()
            await world.sends_coins(address, 10)
            world.chain.mine()
            await publishes(world, address, ("balance_rose", "seen", "10"))
            world.chain.reorg(1)
            await publishes(
                world,
                address,
                ("balance_rose", "seen", "10"),
                ("balance_rose", "reverted", "10"),
            )

    @pytest.mark.fault("A11")
    async def test_a11_of_more_young_addresses_than_are_counted_the_oldest_are_counted_rarely(
        self, world: World
    ) -> None:
        world.count_schedule = CountSchedule(young_max=2, old_every=timedelta(days=36_500))
        async with world.follow():
            addresses = [
                await world.assigns(551 + n, since=NOW + timedelta(seconds=n)) for n in range(4)
            ]
            await world.has_activated()
            for address in addresses:
                await world.sends_coins(address, 3)
            world.chain.mine()
            await world.is_at_head()
            assert {b["to_address"] for b in await world.messages()} == set(addresses[2:])
            assert observe.YOUNG_ADDRESSES.labels(NETWORK)._value.get() == 2
            assert observe.YOUNG_ADDRESSES_MAX.labels(NETWORK)._value.get() == 2
            assert observe.ADDRESSES.labels(NETWORK)._value.get() == 4

        world.count_schedule = CountSchedule(young_max=2, old_every=timedelta(days=-1))
        async with world.follow():
            world.chain.mine()
            await world.is_at_head()
            assert {b["to_address"] for b in await world.messages()} == set(addresses)

    async def test_at_old_addresses_are_counted_more_rarely_and_for_ever(
        self, world: World
    ) -> None:
        world.count_schedule = CountSchedule(
            young_for=timedelta(days=-1), old_every=timedelta(days=-1), old_max=1
        )
        async with world.follow():
            first, second = await world.assigns(516), await world.assigns(517)
            await world.has_activated()
            for address in (first, second):
                await world.sends_coins(address, 3)
            world.chain.mine()
            await world.is_at_head()
            assert len(await world.messages()) == 1  # one per block
            world.chain.mine()
            await world.is_at_head()

        came = {b["to_address"] for b in await world.messages()}
        assert came == {first, second}


class TestSweeps:
    @pytest.mark.parametrize("token", [USDC, NATIVE], ids=["token", "coin"])
    @pytest.mark.fault("W17")
    async def test_w17_are_published_as_sweeps_and_never_as_deposits(
        self, world: World, token: str
    ) -> None:
        async with world.follow():
            address = await world.assigns(521)
            await world.has_activated()
            if token == NATIVE:
                await world.sends_coins(address, 40)
            else:
                await world.sends_tokens(address, 40)
            world.chain.mine()
            await world.is_at_head()
            await world.sweeps(521, token)  # by an external account
            world.chain.mine(8)
            await world.is_at_head()

        at_treasury = [b for b in await world.messages() if b["to_address"] == TREASURY]
        assert [(b["kind"], b["state"], b["base_units"]) for b in at_treasury] == [
            ("swept", "confirmed", "40"),
        ]
        assert {(b["token"], b["from_address"]) for b in at_treasury} == {(token, address)}
        at_address = [one for one in await published_states(world, address) if one[1] == "seen"]
        assert len(at_address) == 1

    @pytest.mark.parametrize("is_hinted", [True, False])
    @pytest.mark.fault("W24")
    async def test_w24_of_coins_within_their_own_block_hide_none(
        self, world: World, is_hinted: bool
    ) -> None:
        async with world.follow():
            if is_hinted:
                await world.assigns(523)
                await world.has_activated()
            await world.sends_coins(address_of(523), 40)
            await world.sweeps(523, NATIVE)
            world.chain.mine()
            await world.is_at_head()
            await world.assigns(523)
            await world.has_activated()
            world.chain.mine()
            await world.is_at_head()

        kinds = {(b["kind"], b["base_units"]) for b in await world.messages()}
        assert kinds == {("swept", "40"), ("balance_rose", "40")}

    async def test_before_the_address_is_assigned_are_not_deposits(self, world: World) -> None:
        async with world.follow():
            await world.sends_tokens(address_of(522), 40)
            await world.sweeps(522, USDC)
            world.chain.mine()
            await world.is_at_head()
            address = await world.assigns(522)
            await world.has_activated()
            world.chain.mine()
            await world.is_at_head()

        kinds = [(b["kind"], b["state"]) for b in await world.messages()]
        assert kinds[:2] == [("swept", "seen"), ("token_transfer", "seen")]
        assert await published_states(world, address)


async def test_a_node_without_a_balance_halts_the_network_instead_of_losing_coins(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched: set[str] = set()
    reader = FakeReader(world.chain, watched)
    balances = reader.balances

    async def silent(*_: Any, **__: Any) -> Any:
        raise ChainUnavailable(NETWORK, ["no state"])

    async with world.follow(reader):
        address = await world.assigns(531)
        await world.has_activated()
        monkeypatch.setattr(reader, "balances", silent)
        await world.sends_coins(address, 6)
        world.chain.mine()
        await world.is_interrupted()
        watch = await world.watches.load(NETWORK)
        assert watch is not None
        assert watch.cursor.number == 0
        monkeypatch.setattr(reader, "balances", balances)
        await publishes(world, address, ("balance_rose", "seen", "6"))


class TestCounts:
    """The view of the settler: up to which time the coins of an address were counted."""

    async def counted(self, world: World, address: str) -> datetime | None:
        async with world.engine.connect() as connection:
            rows = await connection.execute(
                sql("SELECT counted_time FROM watched_target WHERE address = :address"),
                {"address": address},
            )
            row = rows.one_or_none()
        return None if row is None else row.counted_time

    @pytest.mark.fault("W20")
    async def test_w20_go_up_with_each_block(self, world: World) -> None:
        async with world.follow():
            address = await world.assigns(541)
            assert await self.counted(world, address) is None
            await world.has_activated()
            assert await self.counted(world, address) is None
            for _ in range(2):
                world.chain.mine()
                await world.is_at_head()
                assert await self.counted(world, address) == world.chain.blocks[-1].time

    @pytest.mark.fault("W20")
    async def test_w20_of_another_address_are_no_count_of_an_uncounted_one(
        self, world: World
    ) -> None:
        async with world.follow():
            await world.assigns(542)
            await world.has_activated()
            world.chain.mine()
            await world.is_at_head()
            address = await world.assigns(543)
            await world.has_activated()

            assert await self.counted(world, address) is None

    @pytest.mark.fault("W20")
    async def test_w20_of_an_old_address_are_its_own(self, world: World) -> None:
        async with world.follow():
            address = await world.assigns(544)
            await world.has_activated()
            world.chain.mine()
            await world.is_at_head()
            first = world.chain.blocks[-1].time
        world.count_schedule = CountSchedule(
            young_for=timedelta(days=-1), old_every=timedelta(days=36_500)
        )
        async with world.follow():
            world.chain.mine()
            await world.is_at_head()
            assert await self.counted(world, address) == first
        world.count_schedule = CountSchedule(
            young_for=timedelta(days=-1), old_every=timedelta(days=-1)
        )
        async with world.follow():
            world.chain.mine()
            await world.is_at_head()
            assert await self.counted(world, address) == world.chain.blocks[-1].time

    @pytest.mark.fault("R5")
    async def test_r5_stop_while_a_part_is_not_published(self, world: World) -> None:
        async with world.follow():
            address = await world.assigns(545)
            await world.has_activated()
            one = await world.sends_coins(address, 4)
            await world.sends_coins(address, 6)
            world.chain.mine()
            await world.is_at_head()
            world.chain.reorg(1, [(one, 0)])
            await world.is_at_head()
            assert await self.counted(world, address) is None

    @pytest.mark.fault("W20")
    async def test_w20_a_rise_of_an_unknown_block_has_its_earliest_time(self, world: World) -> None:
        async with world.follow():
            address = await world.assigns(546)
            await world.has_activated()
            world.chain.mine()
            await world.is_at_head()
            counted = world.chain.blocks[-1].time
            await world.sends_coins(address, 5)
            world.chain.mine()
            await publishes(world, address, ("balance_rose", "seen", "5"))
        await world.sends_coins(address, 7)
        world.chain.mine(3)
        async with world.follow():
            await world.is_at_head()

        came_after = {b["base_units"]: b["came_after"] for b in await world.messages()}
        assert came_after["5"] is None  # its block is known
        late = datetime.fromisoformat(came_after["7"])
        assert late == counted + timedelta(seconds=1)
