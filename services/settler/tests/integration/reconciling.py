"""Payments of the Treasury by external transactions: reported, and reconciled."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.lane_harness import (
    DESTINATION,
    NOW,
    PAYOUT,
    SIGNER,
    World,
    a_recipient,
)
from swap_contracts.payouts import PayoutChanged
from swap_contracts.topics import PAYOUT_CHANGED
from swap_domain.catalogue import NATIVE, Catalogue
from swap_settler.model.messages.message_mapping import MessageMapper
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from swap_settler.operator.store.external_nonces import PostgresExternalNonces
from swap_settler.operator.store.external_payments import PostgresExternalPaymentUnitOfWork
from swap_settler.operator.usecases.reconcile_unknown_payments import ReconcileUnknownPayments
from swap_settler.settling.usecases.settle_payouts import SettlePayouts

OTHER: Final = a_recipient(77)  # another operator of the Treasury


@asynccontextmanager
async def opened_beside_other(migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    """Yield a destination with a second operator of its Treasury."""
    async with opened_world(migrate_schema("settler"), DESTINATION) as world:
        world.chain.give(SIGNER, NATIVE, 10**18)
        world.chain.authorize(OTHER)
        await world.close_slots()  # the ledger has its gas money
        yield world


def explaining(world: World, catalogue: Catalogue | None = None) -> ReconcileUnknownPayments:
    return ReconcileUnknownPayments(
        PostgresExternalNonces(world.engine),
        PostgresExternalPaymentUnitOfWork(world.engine, consumer="settler"),
        catalogue=catalogue or world.catalogue,
        chains={world.network: world.reader},
        clock=world.clock,
        swap_messages=world.swap_messages,
    )


async def record_external_payment(
    world: World,
    external: str,
    to_address: str,
    base_units: int = PAYOUT,
    *,
    paid_id: int | None = None,
) -> None:
    """Publish the chain-watcher's facts of a final payment; by default of the only one."""
    if paid_id is None:
        [row] = await world.rows("SELECT paid_id FROM intent")
        paid_id = int(row.paid_id)
    place = (await world.reader.transactions([external]))[external]
    assert place.block_number is not None
    assert place.block_hash is not None
    body = PayoutChanged(
        intent_id=str(paid_id),
        version=2,
        state="confirmed",
        network=world.network,
        transaction_hash=external,
        block_number=place.block_number,
        block_hash=place.block_hash,
        block_time=NOW,
        token=NATIVE,
        to_address=to_address,
        base_units=str(base_units),
    )
    settle = SettlePayouts(
        PostgresUnitOfWork(world.engine, consumer="settler"),
        clock=world.clock,
        mapper=MessageMapper(world.catalogue),
        swap_messages=world.swap_messages,
    )
    await settle([PAYOUT_CHANGED.seal(body, version=2, occurred_at=NOW, trace_id="t")])
