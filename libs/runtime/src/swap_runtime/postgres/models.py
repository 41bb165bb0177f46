"""Plain rows as SQLModel's models: statements that are made from them, and rows read into them.

A model is the only definition of its table: a test of each service compares it with the result of
the migrations. Its statements run where all others do, in the unit of work's transaction; there is
no session, and no second pool.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

from sqlalchemy import Column
from sqlalchemy.dialects.postgresql import dialect
from sqlalchemy.sql import ClauseElement
from sqlmodel import SQLModel

from swap_runtime.postgres.sql import Row, Statement, sql

# `:name` for a parameter, as in the statements that are written by hand.
DIALECT: Final = dialect(paramstyle="named")  # type: ignore[no-untyped-call]
Facts = TypeVar("Facts", bound=SQLModel)


class ValueInStatement(Exception):
    """A statement has a value where it needs a `bindparam`: the value would be lost."""


def text_of(query: ClauseElement) -> str:
    """Return the SQL of a query, with a `:name` for each `bindparam`.

    :raises ValueInStatement: when a part of it is a value.
    """
    compiled = query.compile(dialect=DIALECT)
    values = {name for name, value in compiled.params.items() if value is not None}
    if values:
        raise ValueInStatement(", ".join(sorted(values)))
    return str(compiled)


def statement_of(query: ClauseElement) -> Statement:
    """Return a query as a statement.

    :raises ValueInStatement: as `text_of` does.
    """
    return sql(text_of(query))


def columns_of(facts: type[SQLModel], table: type[SQLModel]) -> list[Column[Any]]:
    """Return the columns of a table that are members of `facts`, in its order."""
    columns = table.metadata.tables[str(table.__tablename__)].columns
    return [columns[name] for name in facts.model_fields]


def names_of(facts: type[SQLModel], table: type[SQLModel]) -> str:
    """Return the same columns as part of a statement that is written by hand."""
    return ", ".join(str(column) for column in columns_of(facts, table))


def read_row(facts: type[Facts], row: Row) -> Facts:
    """Return the fields of a row that are in the model; other columns are left out.

    :raises pydantic.ValidationError: when the row is not one of them: a bug, or a drift.
    """
    found = row._asdict()
    return facts.model_validate({name: found[name] for name in facts.model_fields})
