"""The Treasury has taken an id of ours by a transaction that was not signed here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from services.settler.tests.integration.lane_worlds import opened_world
from services.settler.tests.lane_world import (
    DESTINATION,
    PAYOUT,
    SIGNER,
    SOURCE,
    TREASURY,
    World,
    a_recipient,
)
from swap_chains.evm.codec import Payment, encode_pay
from swap_chains.fake import FakeSender
from swap_chains.ports import Call, Fees
from swap_domain.catalogue import NATIVE
from swap_settler.adapters.dwelling import PostgresDwelling

SAID = {"by": "ann", "reason": "another deployment paid it"}
pytestmark = pytest.mark.connected
FEES = Fees(10**13, 10**13)
OTHER = a_recipient(77)  # another operator of the Treasury
THIEF = a_recipient(66)


@pytest.fixture
async def world(migrated: Callable[[str], str]) -> AsyncIterator[World]:
    migrated("chain_watcher")
    async with opened_world(migrated("settler"), DESTINATION) as world:
        world.chain.give(SIGNER, NATIVE, 10**18)
        world.chain.authorize(OTHER)
        await world.close_slots()  # the ledger has its gas money
        yield world


async def pays(world: World, to_address: str, base_units: int = PAYOUT, *, nonce: int = 0) -> str:
    """Let another operator use the id of the first payment."""
    [row] = await world.rows("SELECT paid_id FROM intent WHERE kind = 'output'")
    payment = Payment(int(row.paid_id), NATIVE, to_address, base_units)
    call = Call(to=TREASURY, value=0, data=encode_pay(payment), gas_limit=10**6)
    sender = FakeSender(world.chain, OTHER)
    signed = await sender.sign(call, nonce=nonce, fees=FEES)
    await sender.broadcast([signed])
    world.chain.mine()
    return signed.transaction_hash


def long_after(world: World) -> World:
    """Let every payment have waited for so long that it is given up."""
    later = datetime.now(UTC) + timedelta(hours=3)
    return replace(world, clock=lambda: later, dwell=timedelta(hours=2))


async def is_halted(world: World) -> bool:
    [signer] = await world.rows("SELECT halted_reason IS NOT NULL AS is_so FROM signer")
    return bool(signer.is_so)


async def status(world: World) -> str:
    [swap] = await world.rows("SELECT status FROM swap")
    return str(swap.status)


class TestPaidByAnother:
    @pytest.mark.parametrize("is_cancelled", [False, True])
    async def test_s23_is_not_sent_back_when_ours_is_dead(
        self, world: World, *, is_cancelled: bool
    ) -> None:
        """It would be given up for good, having waited for so long: its user has the money."""
        await world.confirmed_swaps(1)
        await world.new_process()(epoch=world.epoch)
        if is_cancelled:
            await world.replacing(dwell=timedelta(0))(epoch=world.epoch)
        ours = dict(world.chain.pool)
        world.chain.pool.clear()
        await pays(world, a_recipient(1))
        world.chain.pool.update(ours)
        world.chain.mine(4)

        await long_after(world).close_slots()

        assert await world.intent_states() == ["broadcast"]
        assert await status(world) == "ls_transfer_pending"
        assert await is_halted(world)
        assert await world.rows("SELECT 1 FROM nonce_slot WHERE closed_at IS NULL") == []
        dwelling = PostgresDwelling(world.engine, networks=[SOURCE, DESTINATION])
        await world.resuming()(DESTINATION, **SAID)
        assert await dwelling.unsent(timedelta(0), limit=10) == {}
