"""The number of open deposit addresses is limited: the chain-watcher counts coins at each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from api_factories import a_body
from api_harness import App, Harness, start

from swap_api.model.keys import KeyKind
from swap_runtime.postgres.sql import sql

pytestmark = pytest.mark.connected

PER_APP, PER_NETWORK = 2, 3


Start = Callable[[], Awaitable[Harness]]


@pytest.fixture
async def start_bounded(
    database_url: str, redis_url: str, catalogue_file: Path
) -> AsyncIterator[Start]:
    """Start processes of one service; a new process has no counts of its own."""
    started: list[Harness] = []

    async def start_one() -> Harness:
        harness = start(
            database_url,
            redis_url,
            catalogue_file,
            deposit_addresses_per_app=PER_APP,
            deposit_addresses_per_network=PER_NETWORK,
        )
        started.append(harness)
        await harness.parts.funding.offers.deposit_addresses.refresh()
        return harness

    yield start_one
    for harness in started:
        await harness.stop()


@pytest.fixture
async def bounded(start_bounded: Start) -> Harness:
    return await start_bounded()


async def statuses(
    api: Harness, app: App, times: int, *, source: tuple[str, str] = ("ETHEREUM_DEVNET", "ETH")
) -> list[int]:
    """Create swaps with a deposit address each."""
    destination = ("BASE_DEVNET", "USDC") if source[1] == "ETH" else ("ETHEREUM_DEVNET", "ETH")
    body = a_body(
        use_depository=False,
        use_deposit_address=True,
        source_network=source[0],
        source_token=source[1],
        destination_network=destination[0],
        destination_token=destination[1],
    )
    return [(await api.create(app, body)).status_code for _ in range(times)]


@pytest.mark.fault("A11")
async def test_a11_are_capped_per_app_also_for_a_publishable_key(bounded: Harness) -> None:
    app = await bounded.an_app(is_lifted=False, kind=KeyKind.PUBLISHABLE)

    assert await statuses(bounded, app, 3) == [200, 200, 429]

    answer = await bounded.create(app, a_body(use_depository=False, use_deposit_address=True))
    error = answer.json()["error"]
    assert error["code"] == "TOO_MANY_PENDING_SWAPS"
    assert "No more than 2 deposit addresses of one app" in error["message"]
    assert answer.headers["retry-after"] == "60"


@pytest.mark.fault("A11")
async def test_a11_are_capped_for_all_apps_of_a_network(bounded: Harness) -> None:
    first, second = [await bounded.an_app(is_lifted=False) for _ in range(2)]

    assert await statuses(bounded, first, 2) == [200, 200]
    assert await statuses(bounded, second, 2) == [200, 429]


async def test_limit_does_not_affect_other_networks_and_methods(
    bounded: Harness,
) -> None:
    app = await bounded.an_app(is_lifted=False)

    assert await statuses(bounded, app, 3) == [200, 200, 429]
    assert await statuses(bounded, app, 1, source=("BASE_DEVNET", "USDC")) == [200]
    assert (await bounded.create(app, a_body())).status_code == 200


async def test_paid_addresses_do_not_count_in_the_limit(
    bounded: Harness, start_bounded: Start
) -> None:
    app = await bounded.an_app(is_lifted=False)
    assert await statuses(bounded, app, 3) == [200, 200, 429]
    assert await statuses(await start_bounded(), app, 1) == [429]
    async with bounded.service.engine.begin() as connection:
        await connection.execute(sql("UPDATE swap SET is_unpaid = false"))

    assert await statuses(await start_bounded(), app, 1) == [200]


@pytest.mark.fault("A11")
async def test_a11_of_all_apps_are_counted_by_another_process(
    bounded: Harness, start_bounded: Start
) -> None:
    first, second, third = [await bounded.an_app(is_lifted=False) for _ in range(3)]
    assert await statuses(bounded, first, 2) == [200, 200]
    assert await statuses(bounded, second, 1) == [200]

    assert await statuses(await start_bounded(), third, 1) == [429]
