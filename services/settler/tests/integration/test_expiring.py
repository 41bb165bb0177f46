"""A deadline passes by the chain-watcher's time, after all facts published by then."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import Any
from uuid import UUID

import pytest
from pydantic import SecretStr

from services.settler.tests.factories import (
    DEADLINE,
    DEPOSIT_ADDRESSES,
    ETHEREUM,
    MINUTE,
    NOON,
    POLYGON,
    REQUESTED,
    a_deposit_message,
    a_refund_address,
    a_request,
    an_attachment,
)
from services.settler.tests.settler_harness import Settler
from swap_chains.evm.deposit_addresses import deposit_address
from swap_chains.evm.memos import encode_memo
from swap_contracts.envelope import Envelope
from swap_runtime.postgres.database import Engine, create_engine
from swap_runtime.postgres.sql import sql
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork

pytestmark = pytest.mark.connected

PAST = DEADLINE + MINUTE
# As long as random numbers are, because a short one occurs in any message.
NUMBER = 8_237_465_019_283_746
ADDRESS, ELSEWHERE = (
    deposit_address(DEPOSIT_ADDRESSES["factory"], DEPOSIT_ADDRESSES["init_code_hash"], number)
    for number in (NUMBER, NUMBER + 1)
)


async def watched(
    watcher: Engine, block_time: datetime, *, network: str = ETHEREUM, outbox_id: int = 0
) -> None:
    async with watcher.begin() as connection:
        await connection.execute(
            sql("""
INSERT INTO watch_cursor (network, number, hash, parent_hash, time, finalized_number, start_number,
                          checked_number, last_outbox_id)
VALUES (:network, 9, '0x1', '0x2', :time, 9, 0, 0, :outbox_id)
ON CONFLICT (network) DO UPDATE SET time = excluded.time, last_outbox_id = excluded.last_outbox_id
"""),
            {"network": network, "time": block_time, "outbox_id": outbox_id},
        )


async def followed(watcher: Engine, address: str, *, counted_time: datetime | None = None) -> None:
    """Record that the chain-watcher follows an address and has counted its coins up to a time."""
    async with watcher.begin() as connection:
        await connection.execute(
            sql("""
INSERT INTO deposit_target (network, address, since, position, looked_at, counted_number,
                            counted_time)
VALUES (:network, :address, :since, nextval('deposit_target_position'), :since,
        CASE WHEN CAST(:counted_time AS timestamptz) IS NOT NULL THEN 9 END, :counted_time)
ON CONFLICT (network, address) DO UPDATE SET counted_number = excluded.counted_number,
  counted_time = excluded.counted_time
"""),
            {
                "network": ETHEREUM,
                "address": address,
                "since": NOON,
                "counted_time": counted_time,
            },
        )


async def publish(watcher: Engine, message_id: UUID, topic: str = "deposit.changed.v1") -> int:
    async with watcher.begin() as connection:
        id = await connection.scalar(
            sql("INSERT INTO outbox (message_id, topic, key, payload)"
                 " VALUES (:message_id, :topic, '', '') RETURNING id"),
            {"message_id": message_id, "topic": topic},
        )  # fmt: skip
    assert isinstance(id, int)
    return id


async def status(engine: Engine) -> object:
    async with engine.connect() as connection:
        return await connection.scalar(sql("SELECT status FROM swap"))


async def park(engine: Engine, topic: str, message: Envelope[Any]) -> None:
    async with engine.begin() as connection:
        await connection.execute(
            sql("INSERT INTO parked (consumer, topic, key, value, partition, \"offset\","
                 " message_id, reason, is_behind) VALUES ('settler', :topic,"
                 " :key, :value, 0, 0, :message_id, 'why', false)"),
            {
                "topic": topic,
                "key": message.key.encode(),
                "value": message.model_dump_json().encode(),
                "message_id": message.message_id,
            },
        )  # fmt: skip


async def end_parked(engine: Engine, state: str) -> None:
    async with engine.begin() as connection:
        await connection.execute(
            sql("UPDATE parked SET state = :state, ended_at = now()"), {"state": state}
        )


@pytest.fixture
async def api(migrate_schema: Callable[[str], str]) -> AsyncIterator[Engine]:
    """The api's database, as the api sees it."""
    engine = create_engine(SecretStr(migrate_schema("api")), application_name="test")
    yield engine
    async with engine.begin() as connection:
        await connection.execute(sql("TRUNCATE outbox"))
    await engine.dispose()


@pytest.fixture
async def run(engine: Engine) -> Settler:
    run = Settler(PostgresUnitOfWork(engine, consumer="settler"))
    await run.requests(a_request())
    run.now = PAST
    return run


class TestExpireSwaps:
    async def test_expires_when_both_clocks_are_beyond(
        self, run: Settler, engine: Engine, watcher: Engine
    ) -> None:
        await watched(watcher, PAST)

        assert await run.expire_swaps() is False

        assert await status(engine) == "expired"

    @pytest.mark.parametrize(
        ("network", "block_time"),
        [(ETHEREUM, DEADLINE), (ETHEREUM, DEADLINE - MINUTE), (POLYGON, PAST)],
    )
    @pytest.mark.fault("W26", "M9")
    async def test_waits_for_the_source_networks_blocks(
        self,
        run: Settler,
        engine: Engine,
        watcher: Engine,
        network: str,
        block_time: datetime,
    ) -> None:
        await watched(watcher, block_time, network=network)

        await run.expire_swaps()

        assert await status(engine) == "user_transfer_pending"

    @pytest.mark.fault("M9")
    async def test_waits_for_our_clock(self, run: Settler, engine: Engine, watcher: Engine) -> None:
        await watched(watcher, PAST)
        run.now = DEADLINE

        await run.expire_swaps()

        assert await status(engine) == "user_transfer_pending"

    async def test_waits_for_unread_messages_of_the_watcher(
        self, run: Settler, engine: Engine, watcher: Engine
    ) -> None:
        undelivered = a_deposit_message("seen", number=99)
        await watched(watcher, PAST, outbox_id=await publish(watcher, undelivered.message_id))

        await run.expire_swaps()
        assert await status(engine) == "user_transfer_pending"

        await run.deposits(undelivered)
        await run.expire_swaps()
        assert await status(engine) == "expired"

    async def test_does_not_wait_for_messages_after_that_block(
        self, run: Settler, engine: Engine, watcher: Engine
    ) -> None:
        later = await publish(watcher, a_deposit_message("seen").message_id)
        await watched(watcher, PAST, outbox_id=later - 1)

        await run.expire_swaps()

        assert await status(engine) == "expired"

    async def test_does_not_look_below_the_watermark(
        self, run: Settler, engine: Engine, watcher: Engine
    ) -> None:
        last_published = await publish(watcher, a_deposit_message("seen").message_id)
        await watched(watcher, PAST, outbox_id=last_published)
        async with engine.begin() as connection:
            await connection.execute(
                sql("INSERT INTO watermark (consumer, source, topic, xid, id) SELECT 'settler',"
                     " 'chain_watcher', topic, xid, id FROM chain_watcher.outbox")
            )  # fmt: skip

        await run.expire_swaps()

        assert await status(engine) == "expired"

    @pytest.mark.parametrize(
        "named",
        [
            {"sequence_number": NUMBER},
            {"memo": "0x" + encode_memo(NUMBER).hex()},
            {"to_address": ADDRESS, "kind": "token_transfer"},
        ],
        ids=["by number", "by memo", "by address"],
    )
    async def test_a_deposit_whose_message_is_parked_keeps_a_swap_open(
        self, engine: Engine, watcher: Engine, named: dict[str, Any]
    ) -> None:
        run = Settler(PostgresUnitOfWork(engine, consumer="settler"))
        await run.requests(a_request(NUMBER, method="deposit_address"))
        run.now = PAST
        await watched(watcher, PAST)
        await followed(watcher, ADDRESS)
        deposit = a_deposit_message("seen", number=None, **named)
        await park(engine, "deposit.changed.v1", deposit)

        await run.expire_swaps()
        assert await status(engine) == "user_transfer_pending"

        await end_parked(engine, "dropped")
        await run.expire_swaps()
        assert await status(engine) == "expired"

    @pytest.mark.parametrize(
        "named",
        [
            {"sequence_number": NUMBER + 1},
            {"memo": "0x" + encode_memo(NUMBER + 1).hex()},
            {"to_address": ELSEWHERE, "kind": "token_transfer"},
        ],
        ids=["by number", "by memo", "by address"],
    )
    async def test_a_parked_deposit_of_another_swap_does_not_delay_it(
        self, engine: Engine, watcher: Engine, named: dict[str, Any]
    ) -> None:
        run = Settler(PostgresUnitOfWork(engine, consumer="settler"))
        await run.requests(a_request(NUMBER, method="deposit_address"))
        run.now = PAST
        await watched(watcher, PAST)
        await followed(watcher, ADDRESS)
        deposit = a_deposit_message("seen", number=None, **named)
        await park(engine, "deposit.changed.v1", deposit)

        await run.expire_swaps()

        assert await status(engine) == "expired"

    async def test_an_attachment_whose_message_is_parked_keeps_a_swap_open(
        self, run: Settler, engine: Engine, watcher: Engine
    ) -> None:
        await watched(watcher, PAST)
        transfer = a_deposit_message("seen", number=None, kind="token_transfer")
        await park(engine, "swap.requests.v1", an_attachment(transfer))

        await run.expire_swaps()

        assert await status(engine) == "user_transfer_pending"

    async def test_a_parked_request_without_a_deposit_does_not_delay_it(
        self, run: Settler, engine: Engine, watcher: Engine
    ) -> None:
        await watched(watcher, PAST)
        await park(engine, "swap.requests.v1", a_refund_address())

        await run.expire_swaps()

        assert await status(engine) == "expired"

    async def test_waits_for_a_request_that_was_sent_and_not_received(
        self, run: Settler, engine: Engine, watcher: Engine, api: Engine
    ) -> None:
        await watched(watcher, PAST)
        transfer = a_deposit_message(number=None, kind="token_transfer", memo=None)
        await run.deposits(transfer)
        attached = an_attachment(transfer)
        async with api.begin() as connection:
            await connection.execute(
                sql("INSERT INTO outbox (message_id, topic, key, payload)"
                     " VALUES (:message_id, 'swap.requests.v1', :key, '')"),
                {"message_id": attached.message_id, "key": attached.key.encode()},
            )  # fmt: skip

        await run.expire_swaps()
        assert await status(engine) == "user_transfer_pending"

        await run.requests(attached)
        assert await status(engine) == "failed"  # no inventory for the payout

    async def test_a_seen_deposit_keeps_a_swap_open(
        self, run: Settler, engine: Engine, watcher: Engine
    ) -> None:
        await run.deposits(a_deposit_message("seen"))
        await watched(watcher, PAST)

        await run.expire_swaps()

        assert await status(engine) == "user_transfer_pending"

    async def test_leaves_a_locked_swap_to_the_next_round(
        self, run: Settler, engine: Engine, watcher: Engine
    ) -> None:
        await watched(watcher, PAST)
        async with engine.begin() as other:
            await other.execute(sql("SELECT 1 FROM swap FOR UPDATE"))
            await run.expire_swaps()
        assert await status(engine) == "user_transfer_pending"

        await run.expire_swaps()
        assert await status(engine) == "expired"

    async def test_money_after_the_end_is_claimable_on_its_own_leg(
        self, run: Settler, engine: Engine, watcher: Engine
    ) -> None:
        await watched(watcher, PAST)
        await run.expire_swaps()

        await run.deposits(a_deposit_message(block_time=PAST))

        assert await status(engine) == "expired"
        async with engine.connect() as connection:
            claims = await connection.execute(
                sql("SELECT deposit_id IS NOT NULL AS of_deposit, -balance AS units FROM account"
                     " WHERE kind = 'claimable'")
            )  # fmt: skip
            assert [tuple(row) for row in claims] == [(True, REQUESTED)]
