"""Fixtures of a lane on an empty database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

from pydantic import SecretStr

from services.settler.tests.lane_harness import DEPOSITORY, FACTORY, NOW, SIGNER, TREASURY, World
from swap_chains.fake import FakeChain
from swap_domain.catalogue import NATIVE
from swap_runtime.postgres.database import create_engine
from swap_runtime.postgres.leases import Lease
from swap_runtime.postgres.sql import sql
from swap_settler.paying.store.lane_store import LaneName
from tests.plugins.postgres import emptying

EMPTY = sql(
    emptying(
        "swap, deposit, account, ledger_transaction, posting, earned_partner_fee, inventory, "
        "intent, signer, nonce_slot, attempt, receipt, signer_transaction, inbox, lease, "
        "payout_stop, withdrawal, swept, source_stop, rescued_token, outflow_cap, blocked_address, "
        "network_silence, network_closure, parked, sweep_due, ledger_cursor, recovery, "
        "retained_hold"
    )
)


@asynccontextmanager
async def opened_world(
    url: str,
    network: str,
    *,
    beside_another: bool = False,
    signer: str = SIGNER,
    treasury: str = TREASURY,
    at: datetime = NOW,
) -> AsyncIterator[World]:
    engine = create_engine(SecretStr(url), application_name="test")
    if not beside_another:
        async with engine.begin() as connection:
            await connection.execute(EMPTY)
    chain = FakeChain(
        network,
        depository=DEPOSITORY,
        treasury=TREASURY,
        decimals={NATIVE: 18},
        factory=FACTORY,
    )
    chain.give(TREASURY, NATIVE, 10**22)
    chain.authorize(signer)
    epoch = await _leading(Lease(engine, LaneName(network, signer).lease, holder="this"))
    world = World(
        engine,
        chain,
        epoch,
        clock=lambda: at,
        network=network,
        signer=signer,
        treasury=treasury,
        at=at,
    )
    await world.store.open_signer(0)
    yield world
    await engine.dispose()


async def _leading(lease: Lease) -> int:
    await lease.acquire()
    assert lease.epoch is not None
    return lease.epoch
