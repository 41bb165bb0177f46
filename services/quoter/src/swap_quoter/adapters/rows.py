"""Between rows and the quoter's own data."""

from __future__ import annotations

from typing import Final

from swap_quoter.domain.completions import Completion
from swap_quoter.domain.market import AssetKey, RouteKey
from swap_runtime.postgres.sql import Row

ROUTE_COLUMNS: Final = (
    "source_network",
    "source_token",
    "destination_network",
    "destination_token",
)


def completion_row(completion: Completion) -> dict[str, object]:
    return {
        "swap_id": completion.swap_id,
        **dict(zip(ROUTE_COLUMNS, completion.route, strict=True)),
        "milliseconds": completion.milliseconds,
        "closed_at": completion.closed_at,
    }


def to_available(row: Row) -> tuple[AssetKey, int]:
    # NUMERIC arrives as Decimal, and arithmetic on those rounds at 28 digits.
    return (row.network, row.token), int(row.available_base_units)


def to_average(row: Row) -> tuple[RouteKey, int]:
    return (
        (row.source_network, row.source_token, row.destination_network, row.destination_token),
        row.milliseconds,
    )
