"""All pairs of the three status tables."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import pytest

from swap_domain import authorization_status, lifecycle, transaction_status

TABLES: list[tuple[Mapping[tuple[StrEnum, StrEnum], StrEnum], type[StrEnum], type[StrEnum]]] = [
    (lifecycle.TRANSITIONS, lifecycle.Status, lifecycle.Trigger),
    (
        transaction_status.TRANSITIONS,
        transaction_status.TransactionStatus,
        transaction_status.TransactionTrigger,
    ),
    (
        authorization_status.TRANSITIONS,
        authorization_status.AuthorizationStatus,
        authorization_status.AuthorizationTrigger,
    ),
]


@pytest.mark.parametrize(("table", "status", "trigger"), TABLES)
class TestEveryTable:
    def test_reaches_every_status_from_the_first(
        self,
        table: Mapping[tuple[StrEnum, StrEnum], StrEnum],
        status: type[StrEnum],
        trigger: type[StrEnum],
    ) -> None:
        reached = {next(iter(status))}
        for _ in status:
            reached |= {after for (before, _), after in table.items() if before in reached}

        assert reached == set(status)

    def test_leaves_no_trigger_unused(
        self,
        table: Mapping[tuple[StrEnum, StrEnum], StrEnum],
        status: type[StrEnum],
        trigger: type[StrEnum],
    ) -> None:
        assert {used for _, used in table} == set(trigger)
