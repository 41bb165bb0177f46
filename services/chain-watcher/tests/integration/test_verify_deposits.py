"""A deposit above its tier's sum is confirmed by two providers, with a node that lies."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from false_providers import FIRST, Change, adding, correct_reader, false_reader
from watch_factories import (
    NETWORK,
    SMALL_TIER_BELOW,
    USDC,
    a_capped_policy,
    a_deposit,
    a_payout,
    a_policy_of_two,
    a_sweep,
    a_withdrawal,
)
from watch_world import SECOND, World

from swap_chain_watcher import observe
from swap_chain_watcher.adapters.trust import PostgresTrust
from swap_chain_watcher.domain.policy import Policy
from swap_chain_watcher.usecases.report_trust import ReportTrust
from swap_chains.errors import BlockDiffers
from swap_chains.events import BlockAdded, Movement, TokenTransfer
from swap_chains.evm.memos import encode_transfer_with_memo
from swap_chains.fake import FakeReader
from swap_chains.ports import Call
from swap_domain.catalogue import NATIVE
from swap_runtime.postgres.sql import sql
from tests.support.waiting import until

pytestmark = pytest.mark.connected

LARGE, HALF = SMALL_TIER_BELOW, SMALL_TIER_BELOW // 2


def adding_large() -> Change:
    return adding(a_deposit("invented", LARGE))


def with_another_memo(added: BlockAdded) -> BlockAdded:
    changed = [
        replace(m, memo=b"for another swap") if isinstance(m, TokenTransfer) else m
        for m in added.movements
    ]
    return replace(added, movements=tuple(changed))


async def states(world: World) -> list[str]:
    return [state for state, _ in await world.published_versions()]


@pytest.fixture
def world(world: World) -> World:
    world.policy = a_policy_of_two()
    return world


class TestWithTwoProviders:
    async def test_a_large_deposit_is_confirmed_when_the_second_provider_reports_it(
        self, world: World
    ) -> None:
        async with world.follow(correct_reader(world, FIRST)):
            await world.deposits(7, LARGE)
            world.chain.mine(3)
            await world.is_at_head()
            assert await states(world) == ["seen"]

            await world.verifying(correct_reader(world))()
            world.chain.mine()
            await world.publishes(("seen", 1), ("confirmed", 2))

    async def test_a_small_one_needs_no_second_provider(self, world: World) -> None:
        async with world.follow(correct_reader(world, FIRST)):
            await world.deposits(7, LARGE - 1)
            world.chain.mine()
            await world.publishes(("confirmed", 2))

    @pytest.mark.breaks_invariants
    @pytest.mark.fault("W1")
    async def test_a_deposit_that_one_node_made_up_is_never_confirmed(self, world: World) -> None:
        """Even in a final block: the second provider lacks it, and the second look halts."""
        async with world.follow(false_reader(world, adding_large())):
            world.chain.mine(9)
            await world.is_at_head()
            await world.verifying(correct_reader(world))()
            world.chain.mine(3)
            await world.is_at_head()

            assert await states(world) == ["seen"]
            assert not await world.second_look(correct_reader(world))()
            assert "lack 1 of the movements" in await world.is_halted()
        assert await states(world) == ["seen"]
        assert observe.UNVERIFIED.labels(NETWORK)._value.get() == 1

    @pytest.mark.fault("W1")
    async def test_the_node_that_reported_it_does_not_verify_it(self, world: World) -> None:
        false_node = false_reader(world, adding_large())
        async with world.follow(false_node):
            world.chain.mine(3)
            await world.is_at_head()

            await world.verifying(false_node)()
            world.chain.mine()
            await world.is_at_head()

        assert await states(world) == ["seen"]

    @pytest.mark.fault("W1")
    async def test_false_memo_credits_no_other_swap(self, world: World) -> None:
        async with world.follow(false_reader(world, with_another_memo)):
            data = encode_transfer_with_memo(world.policy.network.contracts.treasury, LARGE, b"7")
            await world.sends(Call(USDC, 0, data, 10**6))
            world.chain.mine(9)
            await world.is_at_head()

            await world.verifying(correct_reader(world))()
            world.chain.mine()
            await world.is_at_head()
            assert await states(world) == ["seen"]
            assert not await world.second_look(correct_reader(world))()
            await world.is_halted()

    @pytest.mark.fault("W1")
    async def test_a_deposit_that_the_second_node_made_up_is_never_confirmed(
        self, world: World
    ) -> None:
        """A movement that only the second look finds has one report, too."""
        false_node = false_reader(world, adding_large(), provider=SECOND)
        async with world.follow(correct_reader(world, FIRST)):
            world.chain.mine(9)
            await world.is_at_head()

            assert await world.second_look(false_node)()
            await world.verifying(false_node)()
            await world.verifying(correct_reader(world, FIRST))()
            world.chain.mine(2)
            await world.is_at_head()

        assert await states(world) == ["seen"]

    async def test_deposit_is_confirmed_once_the_first_node_has_indexed_it(
        self, world: World
    ) -> None:
        """The follower did not see the report, so it reads open movements again."""
        late = false_reader(world, lambda added: replace(added, movements=()))
        async with world.follow(late):
            await world.deposits(7, LARGE)
            world.chain.mine(9)
            await world.is_at_head()
            assert await world.second_look(correct_reader(world))()
            assert await states(world) == ["seen"]

            await world.verifying(correct_reader(world, FIRST))()
            late.change = lambda added: added  # type: ignore[method-assign]
            world.chain.mine()
            await world.is_at_head()
            world.chain.mine()
            await world.publishes(("seen", 1), ("confirmed", 2))

    async def test_a_payout_is_confirmed_when_the_second_provider_reports_it(
        self, world: World
    ) -> None:
        async with world.follow(correct_reader(world, FIRST)):
            await world.pays(99)
            world.chain.mine(9)
            await world.is_at_head()
            assert await states(world) == ["seen"]

            await world.verifying(correct_reader(world))()
            world.chain.mine()
            await world.publishes(("seen", 1), ("confirmed", 2))

    @pytest.mark.fault("W1")
    async def test_a_payout_that_one_node_made_up_is_never_confirmed(self, world: World) -> None:
        async with world.follow(false_reader(world, adding(a_payout("invented")))):
            world.chain.mine(9)
            await world.is_at_head()
            await world.verifying(correct_reader(world))()
            world.chain.mine()
            await world.is_at_head()
            assert await PostgresTrust(world.engine).list_withheld() == []

            assert not await world.second_look(correct_reader(world))()
            assert f"reported by {FIRST}" in await world.is_halted()
        assert await states(world) == ["seen"]

    @pytest.mark.parametrize("false_movement", [a_sweep("own", LARGE), a_withdrawal("own", LARGE)])
    async def test_internal_movement_does_not_count_as_a_withheld_deposit(
        self, world: World, false_movement: Movement
    ) -> None:
        """It does not count in the tier's sum or as withheld."""
        async with world.follow(false_reader(world, adding(false_movement))):
            world.chain.mine(9)
            await world.is_at_head()
            await world.verifying(correct_reader(world))()
            await world.deposits(7, HALF)
            world.chain.mine()
            await world.is_at_head()

        assert await states(world) == ["seen", "confirmed"]
        assert await PostgresTrust(world.engine).list_withheld() == []

    async def test_payouts_do_not_count_for_deposits(self, world: World) -> None:
        async with world.follow(correct_reader(world, FIRST)):
            await world.pays(99, LARGE)
            world.chain.mine(9)
            await world.is_at_head()
            await world.deposits(7, HALF)
            world.chain.mine()
            await world.is_at_head()

        assert await states(world) == ["seen", "confirmed"]

    async def test_a_node_that_lags_is_asked_again(self, world: World) -> None:
        class ReaderBehind(FakeReader):
            async def movements(self, **place: Any) -> Any:
                raise BlockDiffers("second", place["last"].number)

        failed = observe.VERIFICATION_FAILURES.labels(NETWORK)._value
        before = failed.get()
        async with world.follow(correct_reader(world, FIRST)):
            await world.deposits(7, LARGE)
            world.chain.mine()
            await world.publishes(("seen", 1))
            verify = world.verifying(ReaderBehind(world.chain, provider=SECOND))
            await verify()
            assert failed.get() == before + 1

            await world.verifying(correct_reader(world))()
            world.chain.mine()
            await world.publishes(("seen", 1), ("confirmed", 2))

    async def test_a_restarted_follower_has_the_verified_blocks(self, world: World) -> None:
        async with world.follow(correct_reader(world, FIRST)):
            await world.deposits(7, LARGE)
            world.chain.mine()
            await world.publishes(("seen", 1))
        await world.verifying(correct_reader(world))()
        world.chain.mine()

        async with world.follow(correct_reader(world, FIRST)):
            await world.publishes(("seen", 1), ("confirmed", 2))

    @pytest.mark.fault("W1")
    async def test_small_ones_need_a_second_provider_from_the_tiers_sum_on(
        self, world: World
    ) -> None:
        """Also after finality, until a second look has read their block."""
        async with world.follow(correct_reader(world, FIRST)):
            await world.deposits(7, HALF)
            world.chain.mine(9)
            await world.is_at_head()
            await world.deposits(8, HALF)
            world.chain.mine()
            await world.is_at_head()
            assert await states(world) == ["confirmed", "seen"]

            world.chain.mine(8)
            await world.is_at_head()
            assert await world.second_look(correct_reader(world))()
            await world.deposits(9, HALF)
            world.chain.mine()
            await world.is_at_head()

        assert (await states(world))[-1] == "confirmed"


class TestCoinsAtAddresses:
    @pytest.mark.fault("W1")
    async def test_a_rise_that_one_node_made_up_is_never_confirmed(self, world: World) -> None:
        class ReaderWithExtraCoins(FakeReader):
            async def balances(self, holdings: Any, *, at: Any) -> Any:
                return dict.fromkeys(await super().balances(holdings, at=at), LARGE)

        watched: set[str] = set()
        async with world.follow(ReaderWithExtraCoins(world.chain, watched, provider=FIRST)):
            world.chain.mine()
            await world.assigns(7)
            await world.has_activated()
            world.chain.mine(2)
            await until(lambda: has_published(world, 1))

            await world.verifying(correct_reader(world))()
            world.chain.mine()
            await world.is_at_head()

        assert await states(world) == ["seen"]

    async def test_is_confirmed_by_two_also_after_its_sweep(self, world: World) -> None:
        watched: set[str] = set()
        async with world.follow(FakeReader(world.chain, watched, provider=FIRST)):
            world.chain.mine()
            address = await world.assigns(7)
            await world.has_activated()
            await world.sends_coins(address, LARGE)
            world.chain.mine()
            await until(lambda: has_published(world, 1))
            await world.sweeps(7, NATIVE)
            world.chain.mine()
            await world.is_at_head()

            await world.verifying(correct_reader(world))()
            assert not await verified(world)
            world.chain.mine(8)
            await world.is_at_head()
            assert await world.second_look(correct_reader(world))()
            await world.verifying(correct_reader(world))()

            assert await verified(world)
            world.chain.mine()
            await until(lambda: has_confirmed_a_rise(world))


class TestWithOneProvider:
    @pytest.fixture
    def capped(self, world: World) -> Policy:
        world.policy = a_capped_policy(LARGE)
        return world.policy

    async def test_deposits_beyond_the_cap_wait_also_over_a_restart(
        self, world: World, capped: Policy
    ) -> None:
        assert capped.caps is not None
        long = replace(capped.caps, span=timedelta(days=36_500))  # the view uses its own clock
        world.policy = replace(capped, caps=long)
        trust = PostgresTrust(world.engine)
        report = ReportTrust(trust, [world.policy])
        await report()
        async with world.follow(correct_reader(world, FIRST)):
            await world.deposits(7, LARGE)
            world.chain.mine()
            await world.publishes(("confirmed", 2))
        async with world.follow(correct_reader(world, FIRST)):
            await world.deposits(8, 1)
            world.chain.mine(9)
            await world.is_at_head()

        assert await states(world) == ["confirmed", "seen"]
        [withheld] = await trust.list_withheld()
        assert (withheld.network, withheld.deposits) == (NETWORK, 1)
        used = {e.token: (e.used_base_units, e.cap_base_units) for e in await trust.exposures()}
        assert used == {USDC: (LARGE, LARGE), NATIVE: (0, LARGE)}
        await report()
        assert observe.WITHHELD.labels(NETWORK)._value.get() == 1
        assert observe.ONE_PROVIDER_USED.labels(NETWORK, USDC)._value.get() == LARGE

    async def test_continue_after_the_span_of_the_cap(self, world: World, capped: Policy) -> None:
        async with world.follow(correct_reader(world, FIRST)):
            await world.deposits(7, LARGE)
            world.chain.mine()
            await world.publishes(("confirmed", 2))
            await world.deposits(8, 1)
            world.chain.mine()
            await world.is_at_head()
            async with world.engine.connect() as connection:
                await connection.execute(
                    sql("UPDATE movement SET trusted_at = trusted_at - CAST(:span AS interval)"),
                    {"span": timedelta(days=2)},
                )

            world.chain.mine()
            await world.publishes(("confirmed", 2), ("seen", 1), ("confirmed", 2))

    async def test_deposit_removed_by_a_reorg_does_not_count_in_the_sum(
        self, world: World, capped: Policy
    ) -> None:
        async with world.follow(correct_reader(world, FIRST)):
            await world.deposits(7, LARGE)
            world.chain.mine()
            await world.publishes(("confirmed", 2))
            world.chain.reorg(1)
            await world.publishes(("confirmed", 2), ("reverted", 3))
            await world.deposits(8, LARGE)
            world.chain.mine()
            await world.publishes(("confirmed", 2), ("reverted", 3), ("confirmed", 2))

    async def test_continue_with_a_second_provider(self, world: World, capped: Policy) -> None:
        async with world.follow(correct_reader(world, FIRST)):
            await world.deposits(7, LARGE + 1)
            world.chain.mine(2)
            await world.is_at_head()
            assert await states(world) == ["seen"]
        world.policy = a_policy_of_two()

        async with world.follow(correct_reader(world, FIRST)):
            await world.verifying(correct_reader(world))()
            world.chain.mine()
            await world.publishes(("seen", 1), ("confirmed", 2))


async def has_published(world: World, count: int) -> bool:
    return len(await world.published_versions()) == count


async def has_confirmed_a_rise(world: World) -> bool:
    bodies = await world.messages()
    return ("balance_rose", "confirmed") in {(body["kind"], body["state"]) for body in bodies}


async def verified(world: World) -> bool:
    async with world.engine.connect() as connection:
        kinds = await connection.scalars(
            sql("SELECT kind FROM movement WHERE verified_at IS NOT NULL")
        )
        return "balance_rose" in set(kinds)
