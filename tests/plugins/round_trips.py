"""Counts how often the code under test waits for PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from swap_runtime.postgres.database import Connection
from swap_runtime.postgres.sql import Rows


@pytest.fixture
def round_trips(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of statements of each round trip, including BEGIN and COMMIT."""
    counted: list[int] = []
    exchange = Connection._exchange

    async def counting(self: Connection, statements: Sequence[Any]) -> Sequence[Rows]:
        counted.append(len(self._waiting) + len(statements))
        return await exchange(self, statements)

    monkeypatch.setattr(Connection, "_exchange", counting)
    return counted
