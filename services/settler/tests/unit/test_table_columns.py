"""The columns of a statement, as SQL and as rows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import pytest

from swap_settler.model.store.table_columns import Columns, new_values

COLUMNS = Columns("""
    id uuid, kind text, base_units numeric,
    paid_id numeric, version int""")


class Kind(StrEnum):
    OUTPUT = "output"


@dataclass(frozen=True)
class Payment:
    id: str
    kind: Kind
    base_units: int
    version: int
    paid_id: int | None = None


class TestColumns:
    def test_casts_an_array_for_each_column_in_their_order(self) -> None:
        columns = Columns("id uuid, base_units numeric")

        assert columns.insert_into("payment AS known") == (
            "INSERT INTO payment AS known (id, base_units) "
            "SELECT * FROM unnest(CAST(:id AS uuid[]), CAST(:base_units AS numeric[]))"
        )
        assert columns.arrays_as("new") == (
            "unnest(CAST(:id AS uuid[]), CAST(:base_units AS numeric[])) AS new(id, base_units)"
        )

    def test_reads_a_row_from_the_fields_in_the_order_of_the_columns(self) -> None:
        row = COLUMNS.row(Payment("1", Kind.OUTPUT, 2**200, version=3))

        assert list(row.items()) == [
            ("id", "1"),
            ("kind", "output"),
            ("base_units", str(2**200)),
            ("paid_id", None),
            ("version", 3),
        ]
        assert type(row["kind"]) is str

    def test_takes_a_given_value_instead_of_a_field(self) -> None:
        row = COLUMNS.row(Payment("1", Kind.OUTPUT, 2, version=3), id="another")

        assert row["id"] == "another"

    def test_refuses_an_object_without_one_of_the_columns(self) -> None:
        with pytest.raises(AttributeError):
            Columns("id uuid, memo text").row(Payment("1", Kind.OUTPUT, 2, version=3))


def test_replaces_columns_by_those_of_the_new_row() -> None:
    assert (
        new_values("""
        state,
        version""")
        == "state = excluded.state, version = excluded.version"
    )
