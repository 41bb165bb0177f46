"""A restored volume is detected by transactions that a chain has and the ledger lacks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from unittest.mock import patch

import pytest
from starlette.requests import Request

from services.settler.tests.integration.recovery_worlds import opened_destination
from services.settler.tests.lane_harness import (
    DESTINATION,
    PAYOUT,
    SIGNER,
    World,
    a_recipient,
)
from services.settler.tests.recovery_harness import (
    FEES,
    change_newest,
    fence,
    finishing,
    is_open,
    make_forgotten,
    mark_final_blocks_read,
    proving,
    watching,
)
from swap_chains.errors import ChainUnavailable
from swap_chains.fake import FakeChain, FakeReader
from swap_chains.ports import Call
from swap_domain.catalogue import NATIVE
from swap_runtime.errors import RequestRefused
from swap_runtime.operators.admin_routes import OperatorOrder
from swap_runtime.postgres.database import Engine
from swap_runtime.postgres.leases import Lease
from swap_runtime.telemetry.metrics import REGISTRY
from swap_settler.paying.store.lane_store import LaneName
from swap_settler.paying.usecases.close_slots import ROUNDS_UNEXPLAINED_MAX
from swap_settler.recovery.http.recovery import RecoveryAdmin
from swap_settler.recovery.usecases import watch_incarnation

pytestmark = [pytest.mark.connected, pytest.mark.fault("P5", "P6")]
OTHER = a_recipient(77)  # a signer of the catalogue without a row in the ledger
RESTARTED = "booted_at = booted_at - interval '1 hour'"


@pytest.fixture
async def world(watcher: Engine, migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_destination(migrate_schema) as world:
        await watching(world)()  # a copied database is unknown until it is registered
        yield world


@pytest.fixture
async def other(world: World) -> World:
    """The lane of the other signer, which has not started."""
    lease = Lease(world.engine, LaneName(DESTINATION, OTHER).lease, holder="this")
    await lease.acquire()
    assert lease.epoch is not None
    world.chain.give(OTHER, NATIVE, 10**18)
    return World(world.engine, world.chain, lease.epoch, signer=OTHER)


async def use(world: World, nonce: int) -> None:
    """Consume a nonce of the world's signer, unknown to the ledger."""
    signed = await world.sender.sign(Call(OTHER, 0, b"", 21_000), nonce=nonce, fees=FEES)
    await world.sender.broadcast([signed])


async def reasons(world: World) -> list[str]:
    rows = await world.rows("SELECT reason FROM recovery WHERE ended_at IS NULL")
    return [row.reason for row in rows]


class UnavailableReader(FakeReader):
    """A network with too few answering providers."""

    async def highest_nonce(self, account: str) -> int:
        raise ChainUnavailable(self.network, ["one provider is not enough"])


class ReaderWithAction(FakeReader):
    """Runs another action before it returns its answer."""

    def __init__(self, chain: FakeChain, action: Callable[[], Awaitable[None]]) -> None:
        super().__init__(chain)
        self._action = action

    async def highest_nonce(self, account: str) -> int:
        await self._action()
        return await super().highest_nonce(account)


async def status_of(world: World) -> dict[str, Any]:
    """Return what `swapctl recovery status` shows."""
    admin = RecoveryAdmin(finishing(world), proving(world))
    answer = await admin.show(Request({"type": "http", "method": "GET", "path": "/admin/recovery"}))
    shown: dict[str, Any] = json.loads(bytes(answer.body))
    return shown


class TestAnOrderToFinish:
    async def test_is_bound_to_what_was_known_when_it_was_proposed(
        self, world: World, other: World
    ) -> None:
        await world.confirmed_swaps(1)
        await use(other, 0)
        await change_newest(world, RESTARTED)
        await watching(world, signers=[OTHER])()
        admin = RecoveryAdmin(finishing(world), proving(world))
        [shown] = (await status_of(world))["recoveries"]
        ordered = OperatorOrder("ann", {"id": str(shown["id"])}, b'{"reason": "looked at"}')

        earlier = await admin.add_evidence(ordered)
        assert json.loads(earlier.body)["evidence"] == shown["evidence"]
        await world.rows("UPDATE recovery SET evidence = evidence + 1 RETURNING 1")

        with pytest.raises(RequestRefused, match=r"new evidence: .* order it again"):
            await admin.finish(earlier)
        with pytest.raises(RequestRefused, match="new evidence"):
            await admin.add_evidence(earlier)
        assert len(await reasons(world)) == 1
        assert (await admin.finish(await admin.add_evidence(ordered))).status_code == 200
        assert await reasons(world) == []

    async def test_that_is_no_order_is_refused(self, world: World) -> None:
        admin = RecoveryAdmin(finishing(world), proving(world))
        for add in (admin.add_evidence, admin.add_hold):
            with pytest.raises(RequestRefused, match="reason"):
                await add(OperatorOrder("ann", {"id": "1"}, b"{}"))


class TestAForgottenSigner:
    @pytest.mark.parametrize("is_mined", [True, False])
    async def test_p6_is_evidence_by_its_nonce(
        self, world: World, other: World, *, is_mined: bool
    ) -> None:
        await world.confirmed_swaps(1)
        await use(other, 0)
        if is_mined:
            world.chain.mine()
        await change_newest(world, RESTARTED)

        await watching(world, signers=[OTHER])()
        await world.send_everything()

        [reason] = await reasons(world)
        assert reason == (f"{DESTINATION} is at nonce 1 of {OTHER}, the ledger has never used it")
        assert await world.intent_states() == ["reserved"]

    async def test_p6_is_not_opened_as_a_new_one_before_it_is_compared(
        self, world: World, other: World
    ) -> None:
        """Its lane restarts before the database is compared, which would hide the evidence."""
        await world.confirmed_swaps(1)
        await use(other, 0)
        world.chain.mine()
        await change_newest(world, RESTARTED)

        assert await other.store.open_signer(1) is None
        await watching(world, chain=UnavailableReader(world.chain), signers=[OTHER])()
        assert await other.store.open_signer(1) is None
        await watching(world, signers=[OTHER])()

        assert len(await reasons(world)) == 1
        assert await other.store.open_signer(1) == 1

    async def test_p6_is_not_opened_while_a_recovery_has_other_evidence(
        self, world: World, other: World
    ) -> None:
        """While a recovery is open, its hold names no network that was not compared."""
        await change_newest(world, RESTARTED)
        await watching(world, chain=UnavailableReader(world.chain), signers=[OTHER])()
        await world.rows(
            "INSERT INTO recovery (cause, reason) VALUES ('evidence', 'of another network')"
            " RETURNING 1"
        )

        assert await other.store.open_signer(1) is None

    async def test_p6_ends_by_itself_once_its_nonces_are_closed(
        self, world: World, other: World, watcher: Engine
    ) -> None:
        """Its first transaction has paid a swap; its second waits in a pool for another."""
        world.chain.authorize(OTHER)
        await world.confirmed_swaps(2)
        await make_forgotten(other, 1, "output", nonce=0)
        world.chain.mine(4)
        await make_forgotten(other, 2, "output", nonce=1)
        await change_newest(world, RESTARTED)
        await watching(world, signers=[OTHER])()
        prove = proving(world, signers=[OTHER])
        await prove()  # it stores the heads first
        await fence(world)
        await mark_final_blocks_read(watcher, world)
        assert not await prove()  # the other lane has not started

        assert await other.store.open_signer(1) == 1
        await fence(other)
        world.chain.mine(4)
        await mark_final_blocks_read(watcher, world)

        assert await prove()
        assert not await is_open(world)
        await world.send_everything()
        world.chain.mine(4)
        assert await world.intent_states() == ["reserved"] * 2
        retained = await finishing(world).list_retained()
        assert {hold.kind for hold in retained} == {"output"}
        assert len(retained) == 2

    async def test_p6_that_the_treasury_refuses_keeps_no_recovery_open(
        self, world: World, other: World, watcher: Engine
    ) -> None:
        await world.confirmed_swaps(1)
        await use(other, 0)
        world.chain.mine(4)
        await change_newest(world, RESTARTED)
        await watching(world, signers=[OTHER])()
        await fence(world)
        prove = proving(world, signers=[OTHER])

        await prove()
        world.chain.mine(4)
        await mark_final_blocks_read(watcher, world)

        assert await prove()

    async def test_p6_one_that_was_never_used_is_none(self, world: World, other: World) -> None:
        await world.confirmed_swaps(1)
        await change_newest(world, RESTARTED)

        await watching(world, signers=[OTHER])()

        assert await reasons(world) == []
        assert await other.store.open_signer(0) == 0

    async def test_p6_an_empty_ledger_takes_a_key_that_was_used(
        self, world: World, other: World
    ) -> None:
        """There is no older payment that could be made twice."""
        await use(other, 0)
        world.chain.mine()
        await change_newest(world, RESTARTED)

        await watching(world, signers=[OTHER])()

        assert await reasons(world) == []
        assert await other.store.open_signer(1) == 1


class TestANetworkThatDoesNotAnswer:
    async def test_p6_is_compared_again_until_it_does(self, world: World) -> None:
        await world.confirmed_swaps(1)
        await use(world, 0)
        world.chain.mine()
        await change_newest(world, RESTARTED)
        unavailable = watching(world, chain=UnavailableReader(world.chain))

        for _ in range(2):
            await unavailable()
            await world.send_everything()
            assert await reasons(world) == []
            assert await world.intent_states() == ["reserved"]
        await watching(world)()

        assert len(await reasons(world)) == 1

    async def test_p6_is_held_also_where_the_ledger_has_no_signer_of_it(self, world: World) -> None:
        await world.confirmed_swaps(1)
        await world.rows("DELETE FROM signer RETURNING 1")
        await change_newest(world, RESTARTED)

        await watching(world, chain=UnavailableReader(world.chain))()

        [newest] = await world.rows("SELECT uncompared FROM incarnation ORDER BY id DESC LIMIT 1")
        assert newest.uncompared == [DESTINATION]

    async def test_p6_is_reported_while_older_payments_are_held_for_it(self, world: World) -> None:
        """Otherwise an unavailable provider would hold them for ever, without a visible reason."""
        await world.confirmed_swaps(1)
        await change_newest(world, RESTARTED)
        assert (await status_of(world))["uncompared"] == []

        answering = FakeReader(world.chain)
        watch = watching(world, chain=answering)
        away = ChainUnavailable(DESTINATION, [])
        with patch.object(answering, "highest_nonce", side_effect=away):
            for _ in range(2):
                await watch()
                [shown] = (await status_of(world))["uncompared"]
                assert shown["network"] == DESTINATION
                assert "two providers" in shown["waits_for"]
                assert REGISTRY.get_sample_value("swap_settler_networks_uncompared") == 1

        await watch()

        assert (await status_of(world))["uncompared"] == []
        assert REGISTRY.get_sample_value("swap_settler_networks_uncompared") == 0

    async def test_p6_a_later_round_gives_each_node_of_a_provider_its_time(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The first node of a provider may never answer, although the second one does."""
        monkeypatch.setattr(watch_incarnation, "ANSWER_SECONDS", 0.1)
        await world.confirmed_swaps(1)
        await use(world, 0)
        world.chain.mine()
        await change_newest(world, RESTARTED)
        watch = watching(world, chain=ReaderWithAction(world.chain, lambda: asyncio.sleep(0.3)))

        await watch()
        assert await reasons(world) == []
        await watch()

        assert len(await reasons(world)) == 1


class TestTwoProcesses:
    @pytest.mark.parametrize("is_compared_again", [False, True])
    async def test_p6_that_find_the_same_evidence_begin_one_recovery(
        self, world: World, *, is_compared_again: bool
    ) -> None:
        """A second one would also hold the swaps between the two, and fence every signer again."""
        await world.confirmed_swaps(1)
        await use(world, 0)
        world.chain.mine()
        await change_newest(world, RESTARTED)
        if is_compared_again:
            await watching(world, chain=UnavailableReader(world.chain))()
        other = watching(world)

        await watching(world, chain=ReaderWithAction(world.chain, other))()

        assert len(await world.rows("SELECT 1 FROM recovery")) == 1
        assert len(await reasons(world)) == 1


class TestANonceThatNothingExplains:
    @pytest.fixture
    async def with_external_nonce(self, world: World) -> World:
        """A final transaction that the ledger lacks has the nonce of a payment."""
        await world.confirmed_swaps(2)
        await world.send_everything()
        world.chain.pool.clear()
        await use(world, 0)
        world.chain.mine()
        return world

    @pytest.mark.fault("S11")
    async def test_s11_begins_one_recovery_beside_the_halt(
        self, with_external_nonce: World
    ) -> None:
        """Each further final block repeats the halt; the hold must not extend to newer swaps."""
        closing = with_external_nonce.closing()
        open_one = "SELECT began_at, evidence, reason FROM recovery WHERE ended_at IS NULL"
        for _ in range(ROUNDS_UNEXPLAINED_MAX + 2):
            with_external_nonce.chain.mine()
            await closing(epoch=with_external_nonce.epoch)
        [began] = await with_external_nonce.rows(open_one)

        for _ in range(3):
            with_external_nonce.chain.mine()
            await closing(epoch=with_external_nonce.epoch)
        [later] = await with_external_nonce.rows(open_one)
        [signer] = await with_external_nonce.rows("SELECT halted_reason FROM signer")

        assert later == began
        assert later.evidence == 0
        assert "used by no transaction of ours" in signer.halted_reason
        assert later.reason == f"signer {SIGNER} of {DESTINATION} halted: {signer.halted_reason}"

    @pytest.mark.fault("S11")
    async def test_s11_the_status_names_the_operators_action(
        self, with_external_nonce: World
    ) -> None:
        """A manual transfer holds payments on all networks; the status names the way out."""
        closing = with_external_nonce.closing()
        for _ in range(ROUNDS_UNEXPLAINED_MAX + 2):
            with_external_nonce.chain.mine()
            await closing(epoch=with_external_nonce.epoch)

        shown = await status_of(with_external_nonce)

        [recovery], [signer] = shown["recoveries"], shown["signers"]
        assert f"signer {SIGNER} of {DESTINATION} halted" in recovery["reason"]
        assert "swapctl signer resume NETWORK, with --used-by TX" in signer["waits_for"]

    @pytest.mark.fault("S11")
    async def test_s11_it_ends_by_its_proofs_once_the_transaction_is_named(
        self, with_external_nonce: World, watcher: Engine
    ) -> None:
        [external] = [
            h
            for mined in with_external_nonce.chain.blocks
            for h in with_external_nonce.chain.mined_at(mined).outcomes
        ]
        closing = with_external_nonce.closing()
        for _ in range(ROUNDS_UNEXPLAINED_MAX + 3):
            with_external_nonce.chain.mine()
            await closing(epoch=with_external_nonce.epoch)
        prove = proving(with_external_nonce)
        await prove()
        await mark_final_blocks_read(watcher, with_external_nonce)
        assert not await prove()

        await with_external_nonce.resuming()(
            DESTINATION, used_by=[external], by="ann", reason="by hand"
        )
        await fence(with_external_nonce)
        with_external_nonce.chain.mine(4)
        await mark_final_blocks_read(watcher, with_external_nonce)
        assert await prove()
        await with_external_nonce.send_everything()
        with_external_nonce.chain.mine(4)
        await with_external_nonce.close_slots()

        assert not await is_open(with_external_nonce)
        assert [with_external_nonce.paid_amount(n) for n in (1, 2)] == [PAYOUT] * 2
        assert await finishing(with_external_nonce).list_retained() == []

    @pytest.mark.fault("S11")
    async def test_s11_what_was_named_meanwhile_begins_none(
        self, with_external_nonce: World
    ) -> None:
        await with_external_nonce.store.halt_for([5], "no slot has this nonce")

        assert await reasons(with_external_nonce) == []
