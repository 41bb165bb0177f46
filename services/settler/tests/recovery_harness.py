"""Parts and steps of a recovery, on chains in memory."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from services.settler.tests.lane_harness import PAYOUT, World, a_recipient, a_request
from swap_chains.evm.codec import Payment, encode_pay, intent_id
from swap_chains.ports import Call, ChainReader, Fees, SignedTransaction
from swap_domain.catalogue import NATIVE
from swap_runtime.postgres.database import Engine
from swap_runtime.postgres.sql import sql
from swap_settler.paying.store.fences import PostgresFences
from swap_settler.paying.usecases.fence_nonces import FenceNonces
from swap_settler.recovery.store.incarnations import PostgresIncarnations
from swap_settler.recovery.store.recoveries import PostgresRecoveries, PostgresRecoveryProofs
from swap_settler.recovery.usecases.finish_recovery import FinishRecovery
from swap_settler.recovery.usecases.prove_recovery import ProveRecovery
from swap_settler.recovery.usecases.watch_incarnation import WatchIncarnation

SLOTS_MAX = 4
FEES = Fees(10**10, 10**10)
READ = sql("""
INSERT INTO watch_cursor (network, number, hash, parent_hash, time, finalized_number, start_number,
    checked_number)
VALUES (:network, :number, '', '', now(), :number, 0, 0)
ON CONFLICT (network) DO UPDATE SET number = excluded.number,
    finalized_number = excluded.finalized_number
""")


def watching(
    world: World,
    *,
    is_lossless: bool = False,
    chain: ChainReader | None = None,
    signers: Sequence[str] = (),
) -> WatchIncarnation:
    """
    :param signers: of the catalogue, beside the world's.
    """
    return WatchIncarnation(
        PostgresIncarnations(world.engine),
        chains={world.network: chain or world.reader},
        signers={world.network: [world.signer, *signers]},
        failover_is_lossless=is_lossless,
    )


async def change_newest(world: World, assignment: str) -> None:
    """Make the newest incarnation differ from the server's."""
    await world.execute(
        f"UPDATE incarnation SET {assignment} WHERE id = (SELECT max(id) FROM incarnation)"
    )


async def restore_database(world: World) -> None:
    """Make the database differ from the registered one, and have the restore detected."""
    await change_newest(world, "timeline = 99, booted_at = booted_at - interval '1 hour'")
    await watching(world)()


async def mark_final_blocks_read(watcher: Engine, *worlds: World) -> None:
    """Advance the chain-watcher to the final blocks of the chains."""
    async with watcher.begin() as connection:
        for world in worlds:
            values = {"network": world.network, "number": world.chain.finalized_number}
            await connection.execute(READ, values)


def fencing(world: World) -> FenceNonces:
    return FenceNonces(
        PostgresFences(world.engine, world.lane),
        chain=world.reader,
        proofs=world.reader,
        signer=world.signer,
        slots_max=SLOTS_MAX,
    )


async def fence(world: World) -> None:
    """Close the nonces that forgotten transactions may have, as far as they are known."""
    if await fencing(world)(epoch=world.epoch):
        await world.send_everything()
        world.chain.mine(4)
        await world.close_slots()


def proving(*worlds: World, signers: Sequence[str] = ()) -> ProveRecovery:
    """
    :param signers: of the catalogue, beside each world's own.
    """
    return ProveRecovery(
        PostgresRecoveries(worlds[0].engine),
        PostgresRecoveryProofs(worlds[0].engine),
        chains={world.network: world.reader for world in worlds},
        treasuries={world.network: world.treasury for world in worlds},
        signers={world.network: [world.signer, *signers] for world in worlds},
    )


def finishing(world: World) -> FinishRecovery:
    return FinishRecovery(PostgresRecoveries(world.engine))


async def is_open(world: World) -> bool:
    found = await finishing(world).find()
    return found is not None and found.ended is None


async def make_forgotten(
    world: World,
    number: int,
    kind: str,
    *,
    nonce: int,
    units: int = PAYOUT,
    leg: str = "main",
    owner: UUID | None = None,
    to_address: str | None = None,
) -> SignedTransaction:
    """Pay for a swap with a transaction that the database lacks; it is in the pool.

    :param owner: a deposit without a swap, instead of the swap.
    """
    paid_id = intent_id(owner or a_request(number).body.swap_id, kind, leg)
    payment = Payment(paid_id, NATIVE, to_address or a_recipient(number), units)
    call = Call(world.treasury, 0, encode_pay(payment), 10**6)
    signed = await world.sender.sign(call, nonce=nonce, fees=FEES)
    await world.sender.broadcast([signed])
    return signed
