from __future__ import annotations

import pytest

from swap_runtime.postgres.sql import Rows, Statement, sql


class TestSql:
    def test_numbers_each_name_once(self) -> None:
        statement = sql("SELECT :b, CAST(:a AS text[]) WHERE x = :b")

        assert statement.text == "SELECT $1, CAST($2 AS text[]) WHERE x = $1"
        assert statement.order_values({"a": 1, "b": 2}) == [2, 1]

    @pytest.mark.parametrize("text", ["SELECT '12:30'", "SELECT x::text", "SELECT 'a:b'"])
    def test_does_not_change_other_colons(self, text: str) -> None:
        assert sql(text) == Statement(text, ())

    def test_a_missing_value_is_an_error(self) -> None:
        with pytest.raises(KeyError, match="b"):
            sql("SELECT :b").order_values({"a": 1})


class TestRows:
    def test_one_requires_exactly_one_row(self) -> None:
        assert Rows([("x",)], 1).one() == ("x",)
        assert Rows([], 0).one_or_none() is None
        for rows in ([], [("x",), ("y",)]):
            with pytest.raises(ValueError, match="unpack"):
                Rows(rows, len(rows)).one()
