"""A network gets another signer: the former one finishes the payments on its nonces."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import SecretStr

from services.settler.tests.lane_harness import DESTINATION, PAYOUT, World, expect_wrong_nonces
from swap_chains.ports import Call, Fees
from swap_runtime.postgres.leases import Lease
from swap_settler.paying.lane import Lane
from swap_settler.paying.store.lane_store import LaneName
from swap_settler.paying.usecases.send_payouts import SendPayouts
from swap_settler.settings import SettlerGroup

pytestmark = [pytest.mark.connected, pytest.mark.fault("M13")]
NEW_SIGNER = "0x0000000000000000000000000000000000000033"
USED_BEFORE = 5  # transactions that the new key had sent elsewhere


@pytest.fixture
def old(world: World) -> World:
    return world


@pytest.fixture
async def new(old: World) -> World:
    """The lane of another signer of the same network, which has a history."""
    old.chain.authorize(NEW_SIGNER)
    lease = Lease(old.engine, LaneName(DESTINATION, NEW_SIGNER).lease, holder="this")
    await lease.acquire()
    assert lease.epoch is not None
    world = World(old.engine, old.chain, lease.epoch, signer=NEW_SIGNER)
    for nonce in range(USED_BEFORE):
        call = Call(NEW_SIGNER, 0, b"", 21_000)
        signed = await world.sender.sign(call, nonce=nonce, fees=Fees(10**12, 10**12))
        await world.sender.broadcast([signed])
    old.chain.mine()
    assert await world.store.open_signer(USED_BEFORE) == USED_BEFORE
    return world


def wired(world: World, *, is_retired: bool) -> SendPayouts:
    """Return a lane's `SendPayouts` as the service wires it."""
    group = SettlerGroup(
        database_url=SecretStr("unused"),
        internal_port=0,
        quoter_url="unused",
        retired_signers=frozenset([world.signer.lower()] if is_retired else ()),
    )
    service: Any = SimpleNamespace(engine=world.engine, clock=world.clock)
    network = world.catalogue.network(world.network)
    chain: Any = SimpleNamespace(network=network, reader=world.reader, sender=world.sender)
    screening: Any = world.screening._screening
    lane = Lane(
        service, group, chain, world.lane, swap_messages=world.swap_messages, screening=screening
    )
    return lane._send()


async def nonces_of(world: World) -> list[int]:
    rows = await world.rows(
        f"SELECT nonce FROM nonce_slot WHERE signer = '{world.signer}' ORDER BY nonce"
    )
    return [int(row.nonce) for row in rows]


async def test_m13_retired_signer_gets_no_new_payments_and_another_starts_at_its_nonce(
    old: World, new: World
) -> None:
    await old.confirmed_swaps(2)

    assert await wired(old, is_retired=True)(epoch=old.epoch) == 0
    assert await wired(new, is_retired=False)(epoch=new.epoch) == 1
    old.chain.mine()

    assert (await nonces_of(old), await nonces_of(new)) == ([], [USED_BEFORE])
    assert [old.paid_amount(number) for number in (1, 2)] == [PAYOUT] * 2


async def test_m13_a_retired_signer_signs_for_the_nonces_that_it_has(
    old: World, new: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its process ended between nonce and signature, and restarted with the setting."""
    await old.confirmed_swaps(1)
    with monkeypatch.context() as patch:
        expect_wrong_nonces(patch)
        patch.setattr(old.store, "store_attempts", _dies)
        with pytest.raises(ConnectionAbortedError):
            await old.send_everything()
    await old.confirmed_swaps(1, first=2)

    assert await wired(new, is_retired=False)(epoch=new.epoch) == 1
    assert await wired(old, is_retired=True)(epoch=old.epoch) == 1
    old.chain.mine()

    assert (await nonces_of(old), await nonces_of(new)) == ([0], [USED_BEFORE])
    assert [old.paid_amount(number) for number in (1, 2)] == [PAYOUT] * 2


async def test_m13_what_a_retired_signer_has_out_is_replaced_by_its_own_key(
    old: World, new: World
) -> None:
    await old.confirmed_swaps(1)
    await old.send_everything()
    old.chain.base_fee *= 10
    replace = old.replacing()
    await replace(epoch=old.epoch)
    old.chain.mine(2)

    assert await new.rebroadcast() == 0
    assert await replace(epoch=old.epoch) == 1
    old.chain.mine(4)
    await old.close_slots()

    attempts = await old.rows("SELECT DISTINCT signer, nonce FROM attempt")
    assert [(row.signer, int(row.nonce)) for row in attempts] == [(old.signer, 0)]
    assert await old.rows("SELECT 1 FROM nonce_slot WHERE closed_at IS NULL") == []
    assert old.paid_amount(1) == PAYOUT


async def _dies(*_: object, **__: object) -> None:
    raise ConnectionAbortedError
