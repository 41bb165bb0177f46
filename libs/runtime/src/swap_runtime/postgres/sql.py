"""SQL as the services write it, with `:name` for a value as in psql, and the rows it returns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

# Not the second colon of a cast, and not one inside a word such as a time of day.
PARAMETER: Final = re.compile(r"(?<![:\w]):([a-z_]\w*)")

Row = Any  # a named tuple with the columns of its statement


class Statement(NamedTuple):
    """One statement as Postgres takes it: `$1`, `$2`, and the name of what each stands for."""

    text: str
    names: tuple[str, ...]

    def order_values(self, values: Mapping[str, Any]) -> list[Any]:
        """
        :raises KeyError: when a value is missing.
        """
        return [values[name] for name in self.names]


def sql(text: str) -> Statement:
    """Number the parameters once, so that no execution has to look for them."""
    names = tuple(dict.fromkeys(PARAMETER.findall(text)))
    numbers = {name: f"${number}" for number, name in enumerate(names, 1)}
    return Statement(PARAMETER.sub(lambda found: numbers[found[1]], text), names)


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
