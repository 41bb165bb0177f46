"""Rows as operators read them: amounts are digits, ids and times are text.

A list names the place of each row by its columns `after…`: the query of the page that follows it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, TypeVar
from uuid import UUID

Target = TypeVar("Target")
Record = Mapping[str, object]
ListPlace = tuple[datetime, UUID]  # of a row in a list by time
# Columns of a list's rows that name their place, and are no members of what is shown.
PLACE_COLUMNS: Final = frozenset(
    {"after", "after_at", "after_id", "after_address", "after_network"}
)


def to_record(row: Any) -> Record:
    """
    :param row: a named tuple with the columns of its statement.
    """
    return {name: _plain(value) for name, value in row._asdict().items()}


def to_dataclass(kind: type[Target], row: Any, *, without: Collection[str] = ()) -> Target:
    """Return a dataclass of the columns with the names of its fields; amounts are integers.

    :param without: the fields that have no column; they keep their defaults.
    :raises KeyError: when another field has none.
    """
    columns = row._asdict()
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: _whole(columns[name]) for name in names if name not in without})


def place_values(after: ListPlace | None) -> dict[str, object]:
    """Return the values of a statement that lists what follows a place; all rows without one."""
    at, id = after or (None, UUID(int=0))
    return {"after_at": at, "after_id": id}


def without_place(record: Record) -> Record:
    """Return what is shown of a row of a list."""
    return {name: value for name, value in record.items() if name not in PLACE_COLUMNS}


def place_of(record: Record) -> Mapping[str, str]:
    """Return the query that names the place of a row of a list."""
    return {name: str(value) for name, value in record.items() if name in PLACE_COLUMNS}


def _whole(value: object) -> object:
    return int(value) if isinstance(value, Decimal) else value


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
