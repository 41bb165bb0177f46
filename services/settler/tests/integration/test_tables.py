"""The documented tables are the migrated ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import create_engine, inspect, text

from swap_settler.model.store import (
    closure_tables,
    external_payment_tables,
    external_transaction_tables,
    loss_tables,
    outflow_tables,
    recovery_tables,
    rescue_tables,
    sweep_tables,
    withdrawal_tables,
)
from swap_settler.model.store.tables import METADATA

pytestmark = pytest.mark.connected
assert withdrawal_tables.WithdrawalRow.metadata is METADATA
assert sweep_tables.SweepRow.metadata is METADATA  # it adds its tables to the others
assert external_transaction_tables.ExternalTransactionRow.metadata is METADATA
assert closure_tables.NetworkClosureRow.metadata is METADATA
assert loss_tables.SourceStopRow.metadata is METADATA
assert rescue_tables.RescuedTokenRow.metadata is METADATA
assert recovery_tables.RecoveryRow.metadata is METADATA
assert external_payment_tables.ExternalPaymentRow.metadata is METADATA
assert outflow_tables.OutflowCapRow.metadata is METADATA
COLUMNS = """
SELECT attname, format_type(atttypid, atttypmod), NOT attnotnull FROM pg_attribute
WHERE attrelid = CAST(:name AS regclass) AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""


@pytest.mark.parametrize("name", sorted(METADATA.tables))
def test_a_table_is_as_documented(migrated: Callable[[str], str], name: str) -> None:
    engine = create_engine(migrated("settler"))
    try:
        with engine.connect() as connection:
            found = [tuple(row) for row in connection.execute(text(COLUMNS), {"name": name})]
        key = inspect(engine).get_pk_constraint(name)["constrained_columns"]
    finally:
        engine.dispose()

    documented = METADATA.tables[name]
    assert [(column, kind.upper(), null) for column, kind, null in found] == [
        (c.name, _spelled(c.type.compile(engine.dialect)), c.nullable) for c in documented.columns
    ]
    assert key == [column.name for column in documented.primary_key]


def test_every_table_of_the_settlers_own_is_documented(migrated: Callable[[str], str]) -> None:
    engine = create_engine(migrated("settler"))
    try:
        found = set(inspect(engine).get_table_names())
    finally:
        engine.dispose()

    runtimes = {name for name in found if name.startswith("outbox")}
    runtimes |= {"alembic_version", "inbox", "watermark", "parked", "lease"}
    runtimes |= {"operator_order", "operator_proposal"}
    assert found - runtimes == set(METADATA.tables)


def _spelled(kind: str) -> str:
    return kind.upper().replace(", ", ",")
