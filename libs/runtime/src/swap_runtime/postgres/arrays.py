"""Lists as Postgres takes arrays, where the statement says what they hold: `CAST(:name AS int[])`.

psycopg asks the values of every list, twice, what it may be. Not only does that take longer than
to write it down: a statement is prepared anew for small numbers, for large ones, and for a column
without a value.

The form is the one that `array_recv` reads in PostgreSQL's src/backend/utils/adt/arrayfuncs.c: the
number of dimensions, a flag, the type of the elements; of each dimension the size and the lower
bound; then each element after its length, which is -1 for null.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from types import NoneType
from typing import Any, Final, cast

import psycopg
from psycopg.pq import Format

Elements = Callable[[list[Any]], list[bytes]]

HEAD: Final = struct.Struct("!iiI").pack
# What may follow the head of a flat list is null or is not: `array_recv` sees for itself.
MAY_HOLD_NULLS: Final = 1
DIMENSION: Final = struct.Struct("!ii").pack
FIRST: Final = 1
LENGTH: Final = struct.Struct("!i").pack
LENGTH_OF_UUID: Final = LENGTH(16)
NULL: Final = LENGTH(-1)
# Another type of value, a number that is too large, a time without a zone.
NOT_OURS: Final = (AttributeError, TypeError, struct.error)


@dataclass(frozen=True, slots=True)
class Array:
    """How a list leaves that is cast to an array of one type."""

    oid: int
    head: bytes
    empty: bytes
    elements: Elements

    @classmethod
    def of(cls, oid: int, element_oid: int, elements: Elements) -> Array:
        """Take the oids as they stand in PostgreSQL's src/include/catalog/pg_type.dat."""
        return cls(oid, HEAD(1, MAY_HOLD_NULLS, element_oid), HEAD(0, 0, element_oid), elements)

    def dump(self, values: object) -> bytes | None:
        """Return the bytes of a flat list of such elements and of None.

        None for everything else: psycopg knows what that is, or what is wrong with it.
        """
        if type(values) is not list:
            return None
        if not values:
            return self.empty
        try:
            elements = self.elements(values)
        except NOT_OURS:
            return None
        return self.head + DIMENSION(len(values), FIRST) + b"".join(elements)


def _texts(values: list[Any]) -> list[bytes]:
    parts: list[bytes] = []  # twice as many, but no sum of two for each
    for value in values:
        if value is None:
            parts.append(NULL)
        else:
            data = value.encode()
            parts.append(LENGTH(len(data)))
            parts.append(data)
    return parts


def _uuids(values: list[Any]) -> list[bytes]:
    return [NULL if value is None else LENGTH_OF_UUID + value.bytes for value in values]


def _exactly(kind: type, framed: Callable[[Any], bytes]) -> Elements:
    """Take no subclass either: True is no number to Postgres."""
    kinds = frozenset({kind, NoneType})

    def elements(values: list[Any]) -> list[bytes]:
        if not kinds.issuperset(map(type, values)):
            raise TypeError
        return [NULL if value is None else framed(value) for value in values]

    return elements


def _integers(form: str) -> Elements:
    pack = struct.Struct(f"!i{form}").pack
    return _exactly(int, partial(pack, struct.calcsize(f"!{form}")))


def _times(kind: type, oid: int, size: int) -> Elements:
    """As psycopg does, in C."""
    dumper = psycopg.adapters.get_dumper_by_oid(oid, Format.BINARY)(kind)
    length, dump = LENGTH(size), cast(Callable[[Any], bytes], dumper.dump)
    return _exactly(kind, lambda value: length + dump(value))


_TEXT: Final = Array.of(1009, 25, _texts)
_BOOLEAN: Final = Array.of(1000, 16, _exactly(bool, lambda value: LENGTH(1) + bytes([value])))
# By the name of what the elements are cast to.
ARRAYS: Final[Mapping[str, Array]] = {
    "bigint": Array.of(1016, 20, _integers("q")),
    "bool": _BOOLEAN,
    "boolean": _BOOLEAN,
    "bytea": Array.of(1001, 17, _exactly(bytes, lambda value: LENGTH(len(value)) + value)),
    "int": Array.of(1007, 23, _integers("i")),
    "interval": Array.of(1187, 1186, _times(timedelta, 1186, 16)),
    # We have these as text, and Postgres makes of it what they are.
    "jsonb": _TEXT,
    "numeric": _TEXT,
    "text": _TEXT,
    "timestamptz": Array.of(1185, 1184, _times(datetime, 1184, 8)),
    "uuid": Array.of(2951, 2950, _uuids),
}
