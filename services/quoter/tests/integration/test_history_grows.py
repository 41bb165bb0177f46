"""The cost of the quoter's statements does not grow with completed swaps."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

import pytest

from swap_quoter.adapters import statements
from swap_runtime.postgres.database import Engine
from tests.plugins.plans import History, Question, Readers

pytestmark = pytest.mark.connected

ROUTES: Final = 500
TABLES: Final = "inventory, completion, completion_average"
# Ten swaps of each of many routes: a window limits the rows of a route.
FILL: Final = (
    f"""
INSERT INTO completion (swap_id, source_network, source_token, destination_network,
                        destination_token, milliseconds, closed_at)
SELECT lpad(to_hex(n), 32, '0')::uuid, 'SOURCE', 'token' || n % {ROUTES}, 'DESTINATION', 'token',
       1, '2029-12-01Z'
FROM generate_series(1, {ROUTES} * 10) AS n
""",
    f"""
INSERT INTO completion_average (source_network, source_token, destination_network,
                                destination_token, milliseconds, swaps)
SELECT 'SOURCE', 'token' || n, 'DESTINATION', 'token', 1, 1
FROM generate_series(0, {ROUTES} - 1) AS n
""",
    f"""
INSERT INTO inventory (network, token, version, available_base_units)
SELECT 'SOURCE', 'token' || n, 1, 1 FROM generate_series(0, {ROUTES} - 1) AS n
""",
)
TOKENS: Final = [f"token{n}" for n in (0, 1, 100, 101, 499)]
ROUTE: Final = {
    "source_network": ["SOURCE"] * 5,
    "source_token": TOKENS,
    "destination_network": ["DESTINATION"] * 5,
    "destination_token": ["token"] * 5,
}
QUESTIONS: Final = {
    "SAVE_INVENTORY": Question(
        statements.SAVE_INVENTORY,
        {
            "network": ["SOURCE"] * 5,
            "token": TOKENS,
            "version": [2] * 5,
            "available_base_units": ["1"] * 5,
        },
    ),
    "LOCK_ROUTES": Question(statements.LOCK_ROUTES, ROUTE),
    "ADD_COMPLETIONS": Question(
        statements.ADD_COMPLETIONS,
        {
            **ROUTE,
            "swap_id": [UUID(int=10**6 + n) for n in range(5)],
            "milliseconds": [1] * 5,
            "closed_at": [datetime(2030, 1, 1, tzinfo=UTC)] * 5,
        },
    ),
    # It reads ten swaps of each of five routes, and deletes one.
    "TRIM_AND_AVERAGE": Question(statements.TRIM_AND_AVERAGE, {**ROUTE, "window": 9}, at_most=300),
}


async def test_every_statement_reads_only_the_rows_of_its_result(
    readers: Readers, engine_of: Callable[[str], Engine]
) -> None:
    assert await readers.among(QUESTIONS, History(engine_of("quoter"), TABLES, FILL)) == {}
