"""The documented tables are the migrated ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import create_engine, inspect

from swap_api.adapters.tables import Table

pytestmark = pytest.mark.connected


@pytest.mark.parametrize("name", sorted(Table.metadata.tables))
def test_a_table_is_as_documented(migrated: Callable[[str], str], name: str) -> None:
    engine = create_engine(migrated("api"))
    try:
        found = inspect(engine).get_columns(name)
        key = inspect(engine).get_pk_constraint(name)["constrained_columns"]
    finally:
        engine.dispose()

    documented = Table.metadata.tables[name]
    assert {c["name"]: (str(c["type"].compile(engine.dialect)), c["nullable"]) for c in found} == {
        c.name: (str(c.type.compile(engine.dialect)), c.nullable) for c in documented.columns
    }
    assert key == [column.name for column in documented.primary_key]
