"""The models of plain rows equal the tables of the migrations."""

from __future__ import annotations

import pytest

from swap_notifier.adapters.models import Table
from tests.plugins.postgres import Database
from tests.support.schema import differences

pytestmark = pytest.mark.connected


def test_migrations_make_the_tables_of_the_models(database: Database) -> None:
    assert differences(database, "notifier", Table.metadata) == []
