"""The columns that a statement writes, named once: for its SQL and for its rows."""

from __future__ import annotations

from enum import Enum

Values = dict[str, object]


class Columns:
    """Columns with their types, as in a table's definition: `id uuid, base_units numeric`.

    A statement takes an array of values for each column, by its name.
    """

    def __init__(self, definition: str) -> None:
        columns = (column.split() for column in definition.split(","))
        self._types = {name: type_name for name, type_name in columns}

    @property
    def names(self) -> str:
        return ", ".join(self._types)

    @property
    def arrays(self) -> str:
        """Return SQL: the rows of the arrays."""
        casts = (f"CAST(:{name} AS {type_name}[])" for name, type_name in self._types.items())
        return f"unnest({', '.join(casts)})"

    def arrays_as(self, name: str) -> str:
        """Return SQL: the same, with a name for the rows and for each column."""
        return f"{self.arrays} AS {name}({self.names})"

    def insert_into(self, table: str) -> str:
        """Return SQL: insert the rows of the arrays."""
        return f"INSERT INTO {table} ({self.names}) SELECT * FROM {self.arrays}"

    def row(self, source: object, **values: object) -> Values:
        """Return a row of the fields with the columns' names; others are given."""
        return {
            name: values[name] if name in values else _to_column(getattr(source, name), type_name)
            for name, type_name in self._types.items()
        }


def new_values(names: str) -> str:
    """Return SQL: what an existing row takes over from the new one."""
    changes = (name.strip() for name in names.split(","))
    return ", ".join(f"{name} = excluded.{name}" for name in changes)


def _to_column(value: object, type_name: str) -> object:
    if isinstance(value, Enum):
        return value.value
    # numeric[] takes amounts as text: they exceed 64 bits.
    return str(value) if type_name == "numeric" and value is not None else value
