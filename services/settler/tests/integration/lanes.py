"""Gives an intent a slot and a signed attempt, as the sender lane does."""

from __future__ import annotations

from typing import Final

from services.settler.tests.factories import SIGNER, swap_id
from services.settler.tests.fakes import FakeUnitOfWork
from swap_runtime.postgres.sql import sql
from swap_settler.model.ports import UnitOfWork, Work
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from swap_settler.model.swap import Intent

HASH: Final = "0x" + "11" * 32
ASSIGN: Final = (
    "INSERT INTO nonce_slot (network, signer, nonce, assigned_at)"
    " VALUES (:network, :signer, :nonce, now())",
    "INSERT INTO slot_intent (network, signer, nonce, intent_id)"
    " VALUES (:network, :signer, :nonce, :id)",
    "UPDATE intent SET state = 'assigned', slot_at = now() WHERE id = :id",
)
SIGN: Final = (
    "INSERT INTO attempt (transaction_hash, network, signer, nonce, raw, max_fee_per_gas,"
    " max_priority_fee_per_gas, signed_at)"
    " VALUES (:hash, :network, :signer, :nonce, 'x', 1, 1, now())"
)


async def sign(
    unit_of_work: UnitOfWork[Work], number: int = 7, transaction_hash: str = HASH
) -> None:
    async with unit_of_work() as work:
        output = (await work.lock_swaps_by_id([swap_id(number)]))[swap_id(number)].output
    assert output is not None
    await sign_intent(unit_of_work, output, transaction_hash, nonce=number)


async def sign_intent(
    unit_of_work: UnitOfWork[Work], intent: Intent, transaction_hash: str = HASH, *, nonce: int = 7
) -> None:
    if isinstance(unit_of_work, FakeUnitOfWork):
        unit_of_work.sign(intent.id, transaction_hash)
        return
    assert isinstance(unit_of_work, PostgresUnitOfWork)
    slot = {"network": intent.network, "signer": SIGNER, "nonce": nonce}
    async with unit_of_work._engine.begin() as connection:
        for statement in ASSIGN:
            values = {**slot, "id": intent.id}
            names = {name for name in values if f":{name}" in statement}
            await connection.execute(sql(statement), {name: values[name] for name in names})
        await connection.execute(sql(SIGN), {**slot, "hash": transaction_hash})
