"""A read shows what the settler has decided, also while that is on its way to the read model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import psycopg
import pytest
from api_factories import HASH, a_message, a_swap, an_input
from api_harness import App, Harness

from swap_api import observe
from swap_api.adapters.swaps import LOOKS, PostgresSwaps
from swap_contracts.swaps import SwapChanged
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected

DECIDED = """
INSERT INTO settler.swap (
  id, app_id, sequence_number, match_key, sequence, status, method, source_network, source_token,
  source_decimals, destination_network, destination_token, destination_decimals,
  destination_address, requested_base_units, payout_base_units, fee_base_units, quote,
  quote_expires_at, created_at, expires_at, changed_at, trace_id)
VALUES (%(id)s, %(id)s, 1, 'key', %(sequence)s, 'completed', 'direct', 'A', '0x', 18, 'B', '0x', 18,
  '0x', 1, 1, 0, '{}', now(), now(), now(), now(), '')
ON CONFLICT (id) DO UPDATE SET sequence = excluded.sequence
"""
Decide = Callable[[SwapChanged], None]
BY = ["id", "hash"]


@pytest.fixture
def decide(database_url: str, database: Database) -> Iterator[Decide]:
    """Let the settler have decided something, and the message of it be on its way."""
    with psycopg.connect(database.superuser_url, autocommit=True) as connection:

        def decide(swap: SwapChanged) -> None:
            connection.execute(DECIDED, {"id": swap.swap_id, "sequence": swap.sequence})

        yield decide
        connection.execute("TRUNCATE settler.swap CASCADE")


@pytest.fixture
async def app(api: Harness) -> App:
    return await api.an_app()


@pytest.fixture
async def paid(api: Harness, app: App) -> SwapChanged:
    """Return a swap whose deposit is known here."""
    swap = a_swap(app_id=app.id, status="ls_transfer_pending", transactions=(an_input(),))
    await api.parts.store_swaps([a_message(swap)])
    return swap


def completed(swap: SwapChanged) -> SwapChanged:
    return swap.model_copy(update={"sequence": swap.sequence + 1, "status": "completed"})


async def shown(api: Harness, app: App, swap: SwapChanged, by: str = "id") -> str:
    path = f"/swaps/{swap.swap_id}" if by == "id" else f"/swaps/by_transaction_hash/{HASH}"
    answer = await api.get(app, path)
    return str(answer.json()["data"]["swap"]["status"])


def shown_behind() -> float:
    return float(observe.SHOWN_BEHIND._value.get())


@pytest.mark.parametrize("by", BY)
async def test_a_read_waits_for_what_is_decided(
    api: Harness, app: App, paid: SwapChanged, decide: Decide, by: str
) -> None:
    after = completed(paid)
    decide(after)
    before = shown_behind()

    reading = asyncio.create_task(shown(api, app, paid, by))
    _, waits = await asyncio.wait([reading], timeout=0.05)
    await api.parts.store_swaps([a_message(after)])

    assert waits
    assert await reading == "completed"
    assert shown_behind() == before


@pytest.mark.parametrize("by", BY)
async def test_what_is_stored_is_shown_where_nothing_comes(
    api: Harness, app: App, paid: SwapChanged, decide: Decide, by: str
) -> None:
    decide(completed(paid))
    before = shown_behind()

    assert await shown(api, app, paid, by) == "ls_transfer_pending"
    assert shown_behind() == before + 1


async def test_a_topic_that_is_away_takes_no_more_than_some_places(
    api: Harness, paid: SwapChanged, decide: Decide
) -> None:
    decide(completed(paid))
    swaps = PostgresSwaps(api.service.engine, waiting_max=2)

    readings = [asyncio.create_task(swaps.find(paid.swap_id)) for _ in range(5)]
    done, waiting = await asyncio.wait(readings, timeout=sum(LOOKS) / 2)

    assert (len(done), len(waiting)) == (3, 2)
    assert None not in await asyncio.gather(*readings)


async def test_nobody_waits_who_is_up_to_date(
    api: Harness, app: App, paid: SwapChanged, decide: Decide
) -> None:
    decide(paid)

    with api.statements() as seen:
        assert await shown(api, app, paid) == "ls_transfer_pending"

    assert len([text for text in seen.texts if "is_behind" in text]) == 1
