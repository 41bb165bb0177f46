"""A swap with a deposit address expires once its coins were counted up to its deadline."""

from __future__ import annotations

import pytest

from services.settler.tests.factories import (
    DEADLINE,
    DEPOSIT_ADDRESSES,
    MINUTE,
    NOON,
    REQUESTED,
    a_deposit_message,
    a_request,
)
from services.settler.tests.integration.test_expiring import PAST, followed, status, watched
from services.settler.tests.settler_harness import Settler
from swap_chains.evm.deposit_addresses import deposit_address
from swap_domain.catalogue import NATIVE
from swap_runtime.postgres.database import Engine
from swap_runtime.postgres.sql import sql
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork

pytestmark = pytest.mark.connected

ADDRESS = deposit_address(DEPOSIT_ADDRESSES["factory"], DEPOSIT_ADDRESSES["init_code_hash"], 7)


async def past_its_deadline(engine: Engine, watcher: Engine, *, is_native: bool) -> Settler:
    """Return a settler with one such swap, and blocks after its deadline."""
    run = Settler(PostgresUnitOfWork(engine, consumer="settler"))
    request = a_request(method="deposit_address")
    if is_native:
        source = request.body.source.model_copy(update={"token": NATIVE, "decimals": 18})
        quote = request.body.quote.model_copy(update={"source": source})
        body = request.body.model_copy(update={"source": source, "quote": quote})
        request = request.model_copy(update={"body": body})
    await run.requests(request)
    run.now = PAST
    await watched(watcher, PAST)
    return run


@pytest.mark.parametrize("is_native", [True, False], ids=["coin", "token"])
@pytest.mark.fault("W23")
async def test_w23_an_address_that_is_not_followed_yet_keeps_a_swap_open(
    engine: Engine, watcher: Engine, is_native: bool
) -> None:
    run = await past_its_deadline(engine, watcher, is_native=is_native)

    await run.expire_swaps()
    assert await status(engine) == "user_transfer_pending"

    await followed(watcher, ADDRESS, counted_time=PAST)
    await run.expire_swaps()
    assert await status(engine) == "expired"


@pytest.mark.parametrize("counted_time", [None, DEADLINE - MINUTE, DEADLINE])
@pytest.mark.fault("W23")
async def test_w23_coins_that_were_not_counted_after_the_deadline_keep_a_swap_open(
    engine: Engine, watcher: Engine, counted_time: object
) -> None:
    run = await past_its_deadline(engine, watcher, is_native=True)
    await followed(watcher, ADDRESS, counted_time=counted_time)  # type: ignore[arg-type]

    await run.expire_swaps()
    assert await status(engine) == "user_transfer_pending"

    await followed(watcher, ADDRESS, counted_time=DEADLINE + MINUTE)
    await run.expire_swaps()
    assert await status(engine) == "expired"


async def test_tokens_need_no_count(engine: Engine, watcher: Engine) -> None:
    run = await past_its_deadline(engine, watcher, is_native=False)
    await followed(watcher, ADDRESS)

    await run.expire_swaps()

    assert await status(engine) == "expired"


@pytest.mark.fault("W23")
async def test_w23_coins_found_late_count_from_the_earliest_block_that_may_have_them(
    engine: Engine, watcher: Engine
) -> None:
    run = await past_its_deadline(engine, watcher, is_native=True)
    rise = a_deposit_message(
        "seen", number=None, kind="balance_rose", to_address=ADDRESS, token=NATIVE,
        units=REQUESTED, block_time=PAST, came_after=NOON,
    )  # fmt: skip

    await run.deposits(rise)

    async with engine.connect() as connection:
        locked = await connection.scalar(sql("SELECT quote_locked_at FROM swap"))
    assert locked == PAST
