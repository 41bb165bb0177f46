"""The parts of three services on one database, and the sample swaps that they make."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import psycopg
from api_harness import App, Harness, start
from pydantic import SecretStr

from services.notifier.tests.process_parts import Notifier
from services.settler.tests.factories import (
    ETHEREUM,
    OWNER,
    PAYOUT,
    POLYGON,
    TREASURY,
    USDC,
    a_deposit_message,
    a_payout_message,
    a_request,
    swap_id,
)
from services.settler.tests.integration.lanes import sign_intent
from services.settler.tests.settler_harness import Settler
from swap_contracts.deposits import DepositChanged
from swap_contracts.envelope import Envelope
from swap_contracts.swaps import SwapChanged, SwapRequest, SwapRequested
from swap_contracts.topics import SWAP_REQUESTS
from swap_runtime.postgres.database import Engine, create_engine
from swap_settler.model.messages.message_mapping import to_swap
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from tests.growth.copies import FUNCTIONS, stash
from tests.plugins.postgres import Database

HOURS_6: Final = timedelta(hours=6)
FUNDED: Final = 10**15  # base units
SAMPLES: Final = ("completed", "expired", "paying", "waiting")

CURSORS: Final = """
INSERT INTO chain_watcher.watch_cursor (network, number, hash, parent_hash, time, finalized_number,
    start_number, checked_number, last_outbox_id)
SELECT network, 1000, '0x1', '0x0', now() + interval '1 hour', 1000, 1000, 0, 0
FROM unnest(%s::text[]) AS network
"""
# The watcher's rows for each deposit: the event, and the transfer that it explains.
DEPOSITED: Final = """
INSERT INTO chain_watcher.movement (network, block_hash, id, block_number, kind, transaction_hash,
    token, from_address, to_address, base_units, internal, sequence_number, version, state,
    confirmations_required, waits_for_finality, claimed_by)
SELECT network, block_hash, id, block_number,
    CASE WHEN swap_id IS NULL THEN 'token_transfer' ELSE 'deposited' END, transaction_hash, token,
    from_address, to_address, base_units, false, sequence_number, 2, 'confirmed', 2, false,
    NULL::uuid
FROM settler.deposit
UNION ALL
SELECT network, block_hash, md5(id::text)::uuid, block_number, 'token_transfer', transaction_hash,
    token, from_address, to_address, base_units, false, NULL, 0, NULL, NULL, NULL, id
FROM settler.deposit WHERE swap_id IS NOT NULL
ON CONFLICT DO NOTHING
"""
PAID: Final = """
INSERT INTO chain_watcher.movement (network, block_hash, id, block_number, kind, transaction_hash,
    token, to_address, base_units, internal, paid_id, version, state, confirmations_required,
    waits_for_finality)
SELECT network, block_hash, md5(id::text)::uuid, block_number, 'paid', transaction_hash, token,
    to_address, base_units, false, paid_id, 2, 'confirmed', 1, false
FROM settler.intent WHERE state = 'confirmed'
"""
MINED: Final = (
    """
INSERT INTO settler.receipt (network, transaction_hash, block_hash, block_number, status,
    fee_base_units)
SELECT intent.network, intent.transaction_hash, intent.block_hash, intent.block_number, 1, 1
FROM settler.intent JOIN settler.attempt USING (transaction_hash) ON CONFLICT DO NOTHING
""",
    """
INSERT INTO settler.signer_transaction (network, signer, nonce, transaction_hash)
SELECT network, signer, nonce, transaction_hash FROM settler.attempt ON CONFLICT DO NOTHING
""",
    "UPDATE settler.nonce_slot SET closed_at = now()",
)
DELIVERED: Final = (
    "UPDATE settler.outbox SET published_at = created_at",
    "UPDATE notifier.webhook_message SET state = 'delivered', attempts = 1, ended_at = created_at",
    """
INSERT INTO notifier.delivery_attempt (message_id, attempt, at, milliseconds, http_status)
SELECT id, 1, created_at, 20, 200 FROM notifier.webhook_message
""",
)


@dataclass(slots=True)
class World:
    """One database with the parts of the services that use it."""

    database: Database
    api: Harness
    app: App
    settler: Settler
    unit_of_work: PostgresUnitOfWork
    settler_engine: Engine
    notifier: Notifier

    def request(self, number: int, *, expires_in: timedelta = HOURS_6) -> Envelope[SwapRequest]:
        """Return a request of the app, created now."""
        now, body = datetime.now(UTC), a_request(number).body
        assert isinstance(body, SwapRequested)
        made = body.model_copy(
            update={
                "app_id": self.app.id,
                "created_at": min(now, now + expires_in - timedelta(minutes=5)),
                "expires_at": now + expires_in,
                "quote_expires_at": now + timedelta(minutes=5),
            }
        )
        return SWAP_REQUESTS.seal(made, version="requested", occurred_at=now, trace_id="t")

    def deposit(self, number: int, state: str = "confirmed") -> Envelope[DepositChanged]:
        """Return the deposit that pays for a request."""
        return a_deposit_message(
            state,
            number=number,
            block_time=datetime.now(UTC),
            transaction_hash=f"0x{number:064x}",
            block_number=1000,
            block_hash="0x" + "33" * 32,
        )


@asynccontextmanager
async def open_world(database: Database, redis_url: str, catalogue: Path) -> AsyncIterator[World]:
    """Start the parts on an empty database."""
    async with AsyncExitStack() as stack:

        def engine(role: str) -> Engine:
            made = create_engine(SecretStr(database.url(role)), application_name="growth")
            stack.push_async_callback(made.dispose)
            return made

        with psycopg.connect(database.superuser_url) as connection:
            connection.execute(CURSORS, ([ETHEREUM, POLYGON],))
        api = start(database.url("api"), redis_url, catalogue)
        stack.push_async_callback(api.stop)
        await api.parts.funding.offers.deposit_addresses.refresh()
        settler_engine = engine("settler")
        unit_of_work = PostgresUnitOfWork(settler_engine, consumer="settler")
        yield World(
            database=database,
            api=api,
            app=await api.an_app(),
            settler=Settler(unit_of_work, now=datetime.now(UTC)),
            unit_of_work=unit_of_work,
            settler_engine=settler_engine,
            notifier=Notifier(engine("notifier")),
        )


async def make_samples(world: World) -> None:
    """Let the use cases make one swap of each kind, and move their rows to the samples."""
    since = datetime.now(UTC) - timedelta(days=90)
    world.notifier.now = datetime.now(UTC)
    await world.notifier.endpoint(
        "http://a.example", app_id=world.app.id, created_at=since, enabled_from=since
    )
    await world.settler.deposits(
        a_deposit_message(
            number=None,
            units=FUNDED,
            kind="token_transfer",
            network=POLYGON,
            token=USDC[POLYGON],
            to_address=TREASURY[POLYGON],
            from_address=OWNER,
            block_number=1000,
            block_time=since,
        )
    )
    with psycopg.connect(world.database.superuser_url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA sample")
        connection.execute(FUNCTIONS)
        for number, sample in enumerate(SAMPLES, start=1):
            await _make(world, sample, number)
            await _publish(world, connection)
            _complete(connection, sample)
            stash(connection, sample)


async def _make(world: World, sample: str, number: int) -> None:
    settler = world.settler
    settler.now = datetime.now(UTC)
    expires_in = timedelta(seconds=-1) if sample == "expired" else HOURS_6
    request = world.request(number, expires_in=expires_in)
    await settler.requests(request)
    if sample == "expired":
        await settler.expire_swaps()
    if sample in ("completed", "paying"):
        await settler.deposits(world.deposit(number, "seen"))
        await settler.deposits(world.deposit(number))
    if sample == "completed":
        async with world.unit_of_work() as work:
            output = (await work.lock_swaps_by_id([swap_id(number)]))[swap_id(number)].output
        assert output is not None
        transaction_hash = "0x" + "11" * 32
        await sign_intent(world.unit_of_work, output, transaction_hash, nonce=number)
        assert isinstance(request.body, SwapRequested)
        await settler.payouts(
            a_payout_message(
                swap=to_swap(request.body, at=settler.now),
                transaction_hash=transaction_hash,
                block_number=1000,
                block_time=settler.now,
                base_units=str(PAYOUT),
            )
        )


async def _publish(world: World, connection: psycopg.Connection) -> None:
    """Apply the swap's changes to the api and the notifier."""
    rows: Sequence[tuple[Any, ...]] = connection.execute(
        "SELECT payload FROM settler.outbox WHERE topic = 'swap.changed.v1' ORDER BY id"
    ).fetchall()
    messages = [Envelope[SwapChanged].model_validate_json(payload) for (payload,) in rows]
    await world.api.parts.swaps.store_swaps(messages)
    await world.notifier.create(messages)


def _complete(connection: psycopg.Connection, sample: str) -> None:
    """Write the rows that the watcher, the lane, the relay and the receiver add."""
    connection.execute("SET session_replication_role = replica")
    for statement in (DEPOSITED, *DELIVERED):
        connection.execute(statement)
    if sample == "completed":
        for statement in (PAID, *MINED):
            connection.execute(statement)
    connection.execute("SET session_replication_role = origin")


def copied_swap(connection: psycopg.Connection, app_id: UUID, nth: int) -> tuple[UUID, str]:
    """Return the id and the destination of a swap of the history, as the api stores it."""
    row = connection.execute(
        "SELECT id, destination_address FROM api.swap WHERE app_id = %s AND sequence_number = %s",
        (app_id, 10_000_000 + nth),
    ).fetchone()
    assert row is not None
    return row[0], row[1]


def created_at(connection: psycopg.Connection, app_id: UUID, nth: int) -> datetime:
    """Return when a swap of the history was created, as the api stores it."""
    row = connection.execute(
        "SELECT created_at FROM api.swap WHERE app_id = %s AND sequence_number = %s",
        (app_id, 10_000_000 + nth),
    ).fetchone()
    assert row is not None
    created: datetime = row[0]
    return created
