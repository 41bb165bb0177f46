"""Compares a value with the tables, and finds the objects in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from tests.conformance.tables import Field, enums, fields_of, models

INT32: Final = range(-(2**31), 2**31)
INT64: Final = range(-(2**63), 2**63)
UUID_VERSION: Final = 4

_DATE_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]00:00)")
_DIGITS: Final = re.compile(r"0|[1-9]\d*")
_DURATION: Final = re.compile(r"\d+:[0-5]\d:[0-5]\d(\.\d+)?")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole(value: Any, within: range) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value in within


def _is_uuid4(value: Any) -> bool:
    try:
        return isinstance(value, str) and UUID(value).version == UUID_VERSION
    except ValueError:
        return False


def _is_moment(value: Any) -> bool:
    """Return whether it is an RFC 3339 time in UTC, with its offset."""
    if not isinstance(value, str) or not _DATE_TIME.fullmatch(value):
        return False
    return datetime.fromisoformat(value).tzinfo is not None


def _matches(pattern: re.Pattern[str]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


PLAIN: Final[Mapping[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "double": _is_number,
    "int32": lambda value: _is_whole(value, INT32),
    "int64": lambda value: _is_whole(value, INT64),
    "uuid4": _is_uuid4,
    "date-time": _is_moment,
    "digits": _matches(_DIGITS),
    "duration": _matches(_DURATION),
}


def is_known(kind: str) -> bool:
    inner = kind.strip("[]")
    return inner in PLAIN or inner in enums() or inner in models()


def fault(kind: str, value: Any) -> str | None:
    """Return the fault of one value; objects inside it are checked separately."""
    if kind.startswith("["):
        if not isinstance(value, list):
            return f"{value!r} is no array"
        inner = kind[1:-1]
        return next((problem for item in value if (problem := fault(inner, item))), None)
    if kind in models():
        return None if isinstance(value, dict) else f"{_short(value)} is no object"
    if kind in enums():
        is_one = isinstance(value, str) and value in enums()[kind]
        return None if is_one else f"{_short(value)} is not one of {sorted(enums()[kind])}"
    return None if PLAIN[kind](value) else f"{_short(value)} is no {kind}"


def field_fault(field: Field, instance: Mapping[str, Any]) -> str | None:
    """Return the fault of a member of an object: missing, of another type, wrongly null."""
    if field.name not in instance:
        return "is absent"
    value = instance[field.name]
    if value is None:
        return None if field.is_nullable else "is null"
    return fault(field.type, value)


def unknown_members(model: str, instance: Mapping[str, Any]) -> set[str]:
    return set(instance) - set(fields_of(model))


def objects(kind: str, value: Any, where: str) -> Iterator[tuple[str, Mapping[str, Any], str]]:
    """Yield every object of the tables in a value: its name, the object, and its path."""
    if kind.startswith("[") and isinstance(value, list):
        for n, item in enumerate(value):
            yield from objects(kind[1:-1], item, f"{where}[{n}]")
    elif kind in models() and isinstance(value, dict):
        yield kind, value, where
        for field in fields_of(kind).values():
            yield from objects(field.type, value.get(field.name), f"{where}.{field.name}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 80 else f"{text[:77]}..."
