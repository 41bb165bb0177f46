"""Makes the api's test helpers importable, with the server of counts as a fixture."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "services/api/tests"))

from services.api.tests.integration.conftest import redis_url, valkey
from tests.plugins.postgres import PostgresServer, started_server

__all__ = ["redis_url", "valkey"]  # fixtures


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    """Return a server that counts the pages of each statement."""
    folder = tmp_path_factory.mktemp("postgres")
    with started_server(folder, "shared_preload_libraries=pg_stat_statements") as server:
        yield server
