"""A read shows the settler's last decision, also while its message is in flight."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import psycopg
import pytest
from api_factories import HASH, a_message, a_swap, an_input
from api_harness import App, Harness, Statements
from api_settler_swaps import INSERT_SWAPS, OTHER_COLUMNS

from swap_contracts.swaps import SwapChanged
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected

DECIDED = f"""
{INSERT_SWAPS}
VALUES (%(id)s, %(id)s, 1, 'key', %(sequence)s, 'completed', {OTHER_COLUMNS})
ON CONFLICT (id) DO UPDATE SET sequence = excluded.sequence
"""
Decide = Callable[[SwapChanged], None]
BY = ["id", "hash"]


@pytest.fixture
def decide(database_url: str, database: Database) -> Iterator[Decide]:
    """Store a decision of the settler without delivering its message."""
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
    """Return a swap with its deposit in the read model."""
    swap = a_swap(app_id=app.id, status="ls_transfer_pending", transactions=(an_input(),))
    await api.parts.swaps.store_swaps([a_message(swap)])
    return swap


def completed(swap: SwapChanged) -> SwapChanged:
    return swap.model_copy(update={"sequence": swap.sequence + 1, "status": "completed"})


async def shown(api: Harness, app: App, swap: SwapChanged, by: str = "id") -> str:
    path = f"/swaps/{swap.swap_id}" if by == "id" else f"/swaps/by_transaction_hash/{HASH}"
    answer = await api.get(app, path)
    return str(answer.json()["data"]["swap"]["status"])


def lookups(seen: Statements) -> int:
    return len([text for text in seen.texts if "swap_told" in text])


@pytest.mark.parametrize("by", BY)
async def test_a_read_waits_for_what_is_decided(
    api: Harness, app: App, paid: SwapChanged, decide: Decide, by: str
) -> None:
    after = completed(paid)
    decide(after)

    with api.statements() as seen:
        reading = asyncio.create_task(shown(api, app, paid, by))
        while lookups(seen) < 2:  # noqa: ASYNC110  # no event for it
            await asyncio.sleep(0.001)
        assert not reading.done()
        await api.parts.swaps.store_swaps([a_message(after)])

        assert await reading == "completed"


@pytest.mark.parametrize("by", BY)
async def test_stored_status_is_shown_when_no_message_arrives(
    api: Harness, app: App, paid: SwapChanged, decide: Decide, by: str
) -> None:
    decide(completed(paid))

    assert await shown(api, app, paid, by) == "ls_transfer_pending"


async def test_a_read_that_is_up_to_date_looks_once(
    api: Harness, app: App, paid: SwapChanged, decide: Decide
) -> None:
    decide(paid)

    with api.statements() as seen:
        assert await shown(api, app, paid) == "ls_transfer_pending"

    assert lookups(seen) == 1


@pytest.mark.parametrize("path", ["", "/events", "/ledger", "/deposit_actions"])
async def test_a_wait_does_not_include_another_partners_changes(
    api: Harness, paid: SwapChanged, decide: Decide, path: str
) -> None:
    decide(completed(paid))
    other_app = await api.an_app()

    with api.statements() as seen:
        answer = await api.get(other_app, f"/swaps/{paid.swap_id}{path}")

    assert answer.status_code == 404
    assert lookups(seen) == 1


@pytest.mark.parametrize("path", ["events", "ledger"])
async def test_history_is_read_without_waiting_for_messages(
    api: Harness, app: App, paid: SwapChanged, decide: Decide, path: str
) -> None:
    decide(completed(paid))

    with api.statements() as seen:
        await api.get(app, f"/swaps/{paid.swap_id}/{path}")

    assert lookups(seen) == 1
