"""Bookings that Postgres refuses to any caller: the last guard of the ledger."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID, uuid5

import pytest
from psycopg.errors import RaiseException

from services.settler.tests.factories import ETHEREUM, SOME, USDC, funding
from services.settler.tests.settler_harness import Settler
from swap_runtime.postgres.database import Connection, Engine
from swap_runtime.postgres.sql import sql
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from tests.plugins.invariants import violations
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected
ONE, NONE = uuid5(SOME, "one"), uuid5(SOME, "none")
ADD_ENTRY = sql("""
INSERT INTO ledger_transaction (id, kind, dedupe_key, at) VALUES (:id, 'test', 'test', now())
""")
ADD_ACCOUNT = sql("""
INSERT INTO account (kind, network, token) VALUES ('position', :network, :token) RETURNING id
""")
# Both signs on each account, so that a refusal is not about the sums.
POST = sql("""
INSERT INTO posting (transaction_id, n, account_id, base_units)
SELECT CAST(:id AS uuid), CAST(:first AS int) + 2 * of.n + side, of.account_id, 2 * side - 1
FROM unnest(CAST(:accounts AS bigint[])) WITH ORDINALITY AS of(account_id, n),
     generate_series(0, 1) AS side
""")


@pytest.fixture
async def known(engine: Engine) -> int:
    """An account that an earlier transaction created."""
    await Settler(PostgresUnitOfWork(engine, consumer="settler")).deposits(funding())
    async with engine.connect() as connection:
        return int(await connection.scalar("SELECT min(id) FROM account"))


@pytest.fixture
async def other(engine: Engine) -> AsyncIterator[Connection]:
    """A concurrent transaction that stays open until the end of the test."""
    async with engine.connect() as connection:
        await connection.execute("BEGIN")
        yield connection
        await connection.execute("ROLLBACK")


async def entered(engine: Engine, *accounts: int, of: UUID = ONE) -> None:
    """Add a ledger transaction, and book on these accounts."""
    async with engine.begin() as connection:
        await connection.execute(ADD_ENTRY, {"id": ONE})
        await post(connection, *accounts, of=of)


async def post(connection: Connection, *accounts: int, of: UUID = ONE, first: int = 0) -> None:
    await connection.execute(POST, {"id": of, "first": first, "accounts": list(accounts)})


async def added_account(connection: Connection) -> int:
    values = {"network": ETHEREUM, "token": USDC[ETHEREUM]}
    return int(await connection.scalar(ADD_ACCOUNT, values))


class TestPostings:
    async def test_of_known_accounts_are_stored(self, engine: Engine, known: int) -> None:
        await entered(engine, known)

        async with engine.connect() as connection:
            count = "SELECT count(*) FROM posting WHERE transaction_id = :id"
            assert await connection.scalar(sql(count), {"id": ONE}) == 2

    async def test_of_an_unknown_account_are_refused(self, engine: Engine, known: int) -> None:
        for accounts in ((10**9,), (known, 10**9), (10**9, 10**9 + 1)):
            with pytest.raises(RaiseException, match="account that is not there"):
                await entered(engine, *accounts)

    async def test_of_an_account_that_another_adds_meanwhile_are_refused(
        self, engine: Engine, known: int, other: Connection
    ) -> None:
        added = await added_account(other)

        with pytest.raises(RaiseException, match="account that is not there"):
            await asyncio.wait_for(entered(engine, known, added), 5)

        await other.execute("COMMIT")
        await entered(engine, known, added)

    async def test_of_an_unknown_ledger_transaction_are_refused(
        self, engine: Engine, known: int
    ) -> None:
        with pytest.raises(RaiseException, match="there is none"):
            await entered(engine, known, of=NONE)

    async def test_of_the_ledger_transaction_of_another_are_refused(
        self, engine: Engine, known: int, other: Connection
    ) -> None:
        """While the other transaction is open, and after it has committed."""
        await other.execute(ADD_ENTRY, {"id": ONE})
        await post(other, known)
        for end in ("SELECT", "COMMIT"):
            await other.execute(end)

            with pytest.raises(RaiseException, match="is closed"):
                async with engine.begin() as connection:
                    await asyncio.wait_for(post(connection, known, first=9), 5)

    @pytest.mark.fault("M15")
    async def test_without_a_trigger_are_found_by_the_invariant(
        self, engine: Engine, known: int, database: Database
    ) -> None:
        """A restore writes the rows before it creates the triggers."""
        url = database.url("auditor").replace("+psycopg", "")
        async with engine.connect() as connection:
            await connection.execute("ALTER TABLE posting DISABLE TRIGGER postings_balance")
            await post(connection, known, 10**9, of=NONE)
            await connection.execute("ALTER TABLE posting ENABLE TRIGGER postings_balance")

        [(_, found)] = violations(url, ["I-35"]).items()
        assert len(found) == 4

        async with engine.connect() as connection:
            await connection.execute("TRUNCATE posting, account, ledger_transaction, inventory")


class TestAccounts:
    @pytest.mark.parametrize(
        "statement", ["DELETE FROM account", "UPDATE account SET id = DEFAULT"]
    )
    @pytest.mark.fault("M15")
    async def test_stay(self, engine: Engine, known: int, statement: str) -> None:
        with pytest.raises(RaiseException, match="append only: account"):
            async with engine.begin() as connection:
                await connection.execute(statement)
