"""Storage of endpoints' secrets, and rotation of the keys that seal them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from pydantic import SecretStr

from services.notifier.tests.factories import NOW, OLD_SECRET, SECRET, a_swap, seal_swap
from swap_notifier.adapters.deliveries import PostgresDeliveries
from swap_notifier.adapters.endpoints import PostgresEndpoints
from swap_notifier.adapters.unit_of_work import PostgresUnitOfWork
from swap_notifier.domain.endpoints import Endpoint, SecretStorage, to_secret
from swap_notifier.usecases.create_messages import CreateMessages
from swap_notifier.usecases.seal_secrets import SealSecrets
from swap_runtime.postgres.database import create_engine
from swap_runtime.sealing import Sealing
from swap_runtime.telemetry.metrics import REGISTRY

pytestmark = pytest.mark.connected
Open = Callable[..., "Store"]
FIRST, SECOND = b"1" * 32, b"2" * 32
LOST_SECRET = to_secret(b"l" * 32)


@pytest.fixture
async def open_store(migrate_schema: Callable[[str], str]) -> AsyncIterator[Open]:
    """Return a function that opens the store of a process with these keys."""
    url = migrate_schema("notifier")
    engine = create_engine(SecretStr(url), application_name="test")
    database = url.replace("+psycopg", "")
    async with await psycopg.AsyncConnection.connect(database) as connection:
        await connection.execute("TRUNCATE endpoint, webhook_message, delivery_attempt, inbox")
    yield lambda *keys: Store(engine, database, *keys)
    await engine.dispose()


class Store:
    """Endpoints in the memory of one process, and their rows in the database."""

    def __init__(self, engine: Any, database: str, *keys: bytes) -> None:
        self.engine = engine
        self.database = database
        self.sealing = Sealing(keys)
        self.endpoints = PostgresEndpoints(engine, self.sealing)
        self.seal_secrets = SealSecrets(self.endpoints)

    async def endpoint(self, secret: str = SECRET) -> Endpoint:
        endpoint = Endpoint(
            id=uuid4(),
            app_id=uuid4(),
            url="http://a.example",
            environment="test",
            wants_updates=False,
            wants_notices=False,
            created_at=NOW,
            enabled_from=NOW,
            disabled_at=None,
            disabled_reason=None,
            failing_since=None,
        )
        await self.endpoints.add(endpoint, secret=secret)
        return endpoint

    async def rotate(self, endpoint: Endpoint, secret: str) -> None:
        until = NOW + timedelta(days=1)
        assert await self.endpoints.rotate(endpoint.id, secret=secret, at=NOW, until=until)

    async def stored(self) -> Sequence[tuple[str | None, ...]]:
        query = "SELECT secret, previous_secret, earlier_secret FROM endpoint ORDER BY id"
        async with await psycopg.AsyncConnection.connect(self.database) as connection:
            return await (await connection.execute(query)).fetchall()

    async def write(self, statement: str, **values: Any) -> None:
        async with await psycopg.AsyncConnection.connect(self.database) as connection:
            await connection.execute(statement.encode(), values)

    async def signing(self, endpoint: Endpoint) -> dict[UUID, tuple[str, ...]]:
        """Create a message for an endpoint, and return its signing keys by endpoint."""
        create = CreateMessages(
            PostgresUnitOfWork(self.engine, consumer="notifier"),
            lambda _: b"{}",
            keep=timedelta(days=30),
            clock=lambda: NOW,
        )
        await create([seal_swap(a_swap(app_id=endpoint.app_id))])
        claimed = await PostgresDeliveries(self.engine, self.sealing).claim(
            at=NOW,
            until=NOW + timedelta(seconds=20),
            claim=uuid4(),
            free=9,
            allowances={},
            first_allowance=9,
        )
        return {one.endpoint_id: one.secrets for one in claimed}


def secrets_metric(how: SecretStorage) -> float | None:
    return REGISTRY.get_sample_value("swap_notifier_secrets", {"kept": how.value})


class TestStoring:
    async def test_writes_no_secret_in_the_clear(self, open_store: Open) -> None:
        store = open_store(FIRST)
        endpoint = await store.endpoint(OLD_SECRET)
        await store.rotate(endpoint, LOST_SECRET)
        await store.rotate(endpoint, SECRET)

        [secrets] = await store.stored()

        assert all(one and "whsec" not in one for one in secrets)
        assert await store.signing(endpoint) == {endpoint.id: (SECRET, LOST_SECRET, OLD_SECRET)}

    @pytest.mark.fault("A6")
    async def test_of_one_endpoint_cannot_be_opened_for_another(self, open_store: Open) -> None:
        store = open_store(FIRST)
        endpoint, another = await store.endpoint(), await store.endpoint(OLD_SECRET)
        await store.write(
            "UPDATE endpoint SET secret = (SELECT secret FROM endpoint WHERE id = %(another)s)"
            " WHERE id = %(id)s",
            another=another.id,
            id=endpoint.id,
        )

        assert await store.signing(endpoint) == {}


class TestSealingAnew:
    async def test_seals_what_was_stored_in_the_clear(self, open_store: Open) -> None:
        store = open_store(FIRST)
        endpoint = await store.endpoint()
        await store.write(
            "UPDATE endpoint SET secret = %(new)s, previous_secret = %(old)s,"
            " previous_secret_until = %(until)s, earlier_secret = %(lost)s,"
            " earlier_secret_until = %(until)s",
            new=SECRET,
            old=OLD_SECRET,
            lost=LOST_SECRET,
            until=NOW + timedelta(days=1),
        )

        assert await store.seal_secrets() is False

        [secrets] = await store.stored()
        assert all(one and store.sealing.is_current(one) for one in secrets)
        assert await store.signing(endpoint) == {endpoint.id: (SECRET, OLD_SECRET, LOST_SECRET)}

    async def test_lets_an_old_key_go(self, open_store: Open) -> None:
        endpoint = await open_store(FIRST).endpoint(OLD_SECRET)
        await open_store(FIRST, SECOND).rotate(endpoint, LOST_SECRET)
        await open_store(SECOND, FIRST).seal_secrets()
        await open_store(FIRST, SECOND).rotate(endpoint, SECRET)

        await open_store(SECOND, FIRST).seal_secrets()

        assert (
            secrets_metric(SecretStorage.FIRST_KEY),
            secrets_metric(SecretStorage.OTHER_KEY),
        ) == (3, 0)
        signing = await open_store(SECOND).signing(endpoint)
        assert signing == {endpoint.id: (SECRET, LOST_SECRET, OLD_SECRET)}

    async def test_does_not_change_secrets_of_the_current_key(self, open_store: Open) -> None:
        store = open_store(FIRST)
        await store.endpoint()
        before = await store.stored()

        await store.seal_secrets()

        assert await store.stored() == before

    async def test_keeps_and_counts_what_no_key_opens(self, open_store: Open) -> None:
        lost = open_store(FIRST)
        endpoint = await lost.endpoint()
        before = await lost.stored()
        store = open_store(SECOND)

        await store.seal_secrets()

        assert await store.stored() == before
        assert secrets_metric(SecretStorage.UNREADABLE) == 1
        assert await store.signing(endpoint) == {}


class TestAKeyThatIsLost:
    async def test_holds_up_only_its_own_endpoints_until_they_get_a_new_secret(
        self, open_store: Open
    ) -> None:
        lost = await open_store(FIRST).endpoint(OLD_SECRET)
        store = open_store(SECOND)
        endpoint = await store.endpoint()
        assert await store.signing(lost) == {}
        assert await store.signing(endpoint) == {endpoint.id: (SECRET,)}

        await store.rotate(lost, SECRET)

        assert await store.signing(lost) == {lost.id: (SECRET,)}
