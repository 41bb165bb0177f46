from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator

import pytest

from services.dashboard.tests.shop import Api, Dashboard, an_api
from tests.plugins.postgres import Database, PostgresServer, created_database

ADDRESS = "http://dashboard.test"


@pytest.fixture(scope="session")
def database(postgres_server: PostgresServer, template: Database) -> Iterator[Database]:
    """Return one database for all modules: the api that uses it takes seconds to start."""
    # Workers with one server have a database each.
    name = f"test_dashboard_{secrets.token_hex(6)}"
    with created_database(postgres_server, name, template.name) as made:
        yield made


@pytest.fixture(scope="session")
def api(database: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with an_api(database, tmp_path_factory.mktemp("api")) as made:
        yield made


@pytest.fixture
async def dashboard(database: Database, api: Api) -> AsyncIterator[Dashboard]:
    made = Dashboard(database, api, public_url=ADDRESS)
    await made.forget_accounts()
    yield made
    await made.close()
