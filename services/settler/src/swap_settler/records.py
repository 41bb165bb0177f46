"""Rows as operators read them: amounts are digits, ids and times are text.

A list names the place of each row by its columns `after…`: the query of the page that follows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

Record = Mapping[str, object]
Place = tuple[datetime, UUID]  # of a row in a list by time


def to_record(row: Any) -> Record:
    """
    :param row: a named tuple with the columns of its statement.
    """
    return {name: _plain(value) for name, value in row._asdict().items()}


def place_values(after: Place | None) -> dict[str, object]:
    """Return the values of a statement that lists what follows a place; all rows without one."""
    at, id = after or (None, UUID(int=0))
    return {"after_at": at, "after_id": id}


def without_place(record: Record) -> Record:
    """Return what is shown of a row of a list."""
    return {name: value for name, value in record.items() if not name.startswith("after")}


def place_of(record: Record) -> Mapping[str, str]:
    """Return the query that names the place of a row of a list."""
    return {name: str(value) for name, value in record.items() if name.startswith("after")}


def _plain(value: object) -> object:
    match value:
        case Decimal():
            return str(int(value))
        case UUID():
            return str(value)
        case datetime():
            return value.isoformat()
        case bytes():
            return f"0x{value.hex()}"
        case _:
            return value
