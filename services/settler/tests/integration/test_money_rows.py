"""Every row of `money_rows`, for every funding method, on a real Postgres.

After each row the invariants hold, and the ledger has every base unit where the row expects it.
"""

from __future__ import annotations

import pytest

from services.settler.tests.integration.postgres_books import PostgresBooks
from services.settler.tests.money_row_runner import MoneyRowRunner, check
from services.settler.tests.money_rows import COST, METHODS, ROWS, Row, Way
from services.settler.tests.settler_harness import Settler
from swap_runtime.postgres.database import Engine
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from swap_settler.settling.store.due_refunds import PostgresDueRefunds
from swap_settler.settling.store.due_requotes import PostgresDueRequotes

pytestmark = pytest.mark.connected


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
@pytest.mark.fault("W14", "W15", "W22", "W23", "M4")
async def test_a_deposit_ends_as_its_row_states(
    engine: Engine, watcher: Engine, row: Row, method: Way
) -> None:
    if method in row.not_by:
        pytest.skip(row.not_by[method])
    settler = Settler(
        PostgresUnitOfWork(engine, consumer="settler"),
        PostgresDueRefunds(engine),
        requotes=PostgresDueRequotes(engine, consumer="settler"),
    )
    books = PostgresBooks(engine, watcher)

    await MoneyRowRunner(row, method, settler, books).run(has_address=True)

    await check(row, books, has_address=True, cost=COST)
