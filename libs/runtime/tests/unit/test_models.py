from __future__ import annotations

from collections import namedtuple

import pytest
from pydantic import ValidationError
from sqlalchemy import MetaData, bindparam, select
from sqlmodel import Field, SQLModel, col

from swap_runtime.postgres.models import (
    ValueInStatement,
    columns_of,
    names_of,
    read_row,
    statement_of,
)


class ShopFacts(SQLModel):
    id: int = Field(primary_key=True)
    name: str


class ShopTable(ShopFacts, table=True):
    __tablename__ = "shop"
    metadata = MetaData()

    secret: str


def test_a_statement_names_its_parameters_and_leaves_the_rest_of_the_table_out() -> None:
    query = select(*columns_of(ShopFacts, ShopTable)).where(col(ShopTable.id) == bindparam("id"))

    statement = statement_of(query)

    assert " ".join(statement.text.split()) == (
        "SELECT shop.id, shop.name FROM shop WHERE shop.id = $1::INTEGER"
    )
    assert statement.order_values({"id": 7}) == [7]


def test_a_value_in_a_statement_is_refused() -> None:
    with pytest.raises(ValueInStatement, match="id_1"):
        statement_of(select(*columns_of(ShopFacts, ShopTable)).where(col(ShopTable.id) == 7))


def test_columns_stand_in_a_statement_that_is_written_by_hand() -> None:
    assert names_of(ShopFacts, ShopTable) == "shop.id, shop.name"


def test_a_row_is_read_into_its_facts() -> None:
    row = namedtuple("row", "id name secret")(7, "a", "hidden")

    assert read_row(ShopFacts, row) == ShopFacts(id=7, name="a")


def test_a_row_that_is_no_such_thing_is_refused() -> None:
    row = namedtuple("row", "id name")(None, "a")

    with pytest.raises(ValidationError):
        read_row(ShopFacts, row)
