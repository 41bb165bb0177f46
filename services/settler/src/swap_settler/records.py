"""Rows as operators read them: amounts are digits, ids and times are text.

A list names the place of each row by its columns `after…`: the query of the page that follows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar
from uuid import UUID

Facts = TypeVar("Facts")
Record = Mapping[str, object]
Place = tuple[datetime, UUID]  # of a row in a list by time


def to_record(row: Any) -> Record:
    """
    :param row: a named tuple with the columns of its statement.
    """
    return {name: _plain(value) for name, value in row._asdict().items()}


def to_facts(kind: type[Facts], row: Any) -> Facts:
    """Return a dataclass of the columns with the names of its fields; amounts are integers.

    Other columns are left out.
    """
    found = row._asdict()
    names = [field.name for field in fields(kind) if field.name in found]  # type: ignore[arg-type]
    return kind(**{name: _whole(found[name]) for name in names})


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
