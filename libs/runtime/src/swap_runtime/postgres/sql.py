"""SQL as the services write it, with `:name` where a value goes, and what comes back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from swap_runtime.postgres.arrays import ARRAYS, Array

# Not the second colon of a cast, and not one inside a word such as a time of day.
PARAMETER: Final = re.compile(r"(?<![:\w]):([a-z_]\w*)")
CAST_TO_ARRAY: Final = re.compile(r"CAST\(:(\w+)\s+AS\s+(\w+)\[\]\)")

Row = Any  # a named tuple with the columns of its statement


class Statement(NamedTuple):
    """One statement as Postgres takes it: `$1`, `$2`, and the name of what each stands for."""

    text: str
    names: tuple[str, ...]
    is_binary: bool = False  # how its rows come
    arrays: tuple[Array | None, ...] = ()  # what each is cast to, where it is one that we know

    def ordered(self, values: Mapping[str, Any]) -> list[Any]:
        """
        :raises KeyError: when a value is missing.
        """
        return [values[name] for name in self.names]


def sql(text: str, *, is_binary: bool = False) -> Statement:
    """Number the parameters once, and see which are arrays: no execution has to look for them.

    :param is_binary: for rows with documents: as text they are twice as long, and each byte is
        looked at by the server and by us.
    """
    names = tuple(dict.fromkeys(PARAMETER.findall(text)))
    numbers = {name: f"${number}" for number, name in enumerate(names, 1)}
    numbered = PARAMETER.sub(lambda found: numbers[found[1]], text)
    types = dict(CAST_TO_ARRAY.findall(text))
    arrays = tuple(ARRAYS.get(types.get(name, "")) for name in names)
    return Statement(numbered, names, is_binary, arrays if any(arrays) else ())


class Rows(list[Row]):
    """Everything that a statement returned."""

    def __init__(self, rows: list[Row], changed: int) -> None:
        super().__init__(rows)
        self.changed = changed  # how many rows it wrote or returned

    def one(self) -> Row:
        """
        :raises ValueError: when there is not exactly one.
        """
        (row,) = self
        return row

    def one_or_none(self) -> Row | None:
        """
        :raises ValueError: when there are several.
        """
        return self.one() if self else None
