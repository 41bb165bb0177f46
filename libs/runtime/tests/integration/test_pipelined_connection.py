"""What `PipelinedConnection` does beyond what a transaction's tests see of it."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
from psycopg.errors import (
    DivisionByZero,
    FeatureNotSupported,
    UndefinedTable,
    UniqueViolation,
)

from swap_runtime.postgres import pipelined_connection as module
from swap_runtime.postgres.database import Engine, execute_alone, reading, transaction
from swap_runtime.postgres.pipelined_connection import ConcurrentExchange
from swap_runtime.postgres.sql import sql
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected
PREPARED = sql("SELECT count(*) FROM pg_prepared_statements")


class TestWhatIsPrepared:
    async def test_a_statement_is_prepared_once_for_each_kind_of_values(
        self, engine: Engine
    ) -> None:
        async with reading(engine) as connection:
            before = await connection.scalar(PREPARED)
            for value in ("a", "b", b"c", b"d", "e"):
                await connection.execute(sql("SELECT :value"), {"value": value})

            assert await connection.scalar(PREPARED) == before + 2

    async def test_twice_in_one_round_trip_is_as_good(self, engine: Engine) -> None:
        one = sql("SELECT 1 AS one WHERE :yes")

        async with reading(engine) as connection:
            [[first], [second]] = await connection.ask((one, {"yes": True}), (one, {"yes": True}))
            [third] = await connection.execute(one, {"yes": True})

        assert (first.one, second.one, third.one) == (1, 1, 1)

    async def test_what_a_failure_kept_from_being_prepared_is_prepared_the_next_time(
        self, engine: Engine
    ) -> None:
        fails, works = sql("SELECT 1 / :zero"), sql("SELECT :ten + 0 AS ten")

        async with reading(engine) as connection:
            with pytest.raises(DivisionByZero):
                await connection.ask((fails, {"zero": 0}), (works, {"ten": 10}))
            [row] = await connection.execute(works, {"ten": 10})

        assert row.ten == 10

    async def test_what_cannot_be_prepared_is_not_taken_for_prepared(self, engine: Engine) -> None:
        count = sql("SELECT count(*) AS n FROM note")

        async with transaction(engine) as connection:
            await connection.execute("SAVEPOINT early")
            await connection.execute("SET LOCAL search_path = nowhere")
            with pytest.raises(UndefinedTable):
                await connection.execute(count)
            await connection.execute("ROLLBACK TO early")

            assert await connection.scalar(count) == 0

    async def test_what_a_migration_changed_is_prepared_anew(
        self, engine: Engine, database: Database
    ) -> None:
        find = sql("SELECT shape FROM settler.changing")
        with psycopg.connect(database.superuser_url, autocommit=True) as migration:
            migration.execute("CREATE TABLE settler.changing AS SELECT 1 AS shape")
            migration.execute("GRANT SELECT ON settler.changing TO settler")
            try:
                async with reading(engine) as connection:
                    assert await connection.scalar(find) == 1
                    migration.execute("ALTER TABLE settler.changing ALTER shape TYPE text")

                    with pytest.raises(FeatureNotSupported):
                        await connection.scalar(find)
                    assert await connection.scalar(find) == "1"
            finally:
                migration.execute("DROP TABLE settler.changing")

    async def test_more_than_a_service_has_is_forgotten(
        self, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "PREPARED_MAX", 3)

        async with reading(engine) as connection:
            seen = [await connection.scalar(sql(f"SELECT {n} + :n"), {"n": n}) for n in range(10)]

            assert await connection.scalar(PREPARED) <= 3
        assert seen == [2 * n for n in range(10)]


class TestRows:
    async def test_a_value_without_a_name_is_found_by_its_place(self, engine: Engine) -> None:
        async with reading(engine) as connection:
            [row] = await connection.execute(sql("SELECT 1, true AS yes"))

        assert (row[0], row.yes) == (1, True)

    async def test_two_columns_of_one_name_are_refused(self, engine: Engine) -> None:
        async with reading(engine) as connection:
            with pytest.raises(ValueError, match="same"):
                await connection.execute(sql("SELECT 1 AS same, 2 AS same"))

            with pytest.raises(ConcurrentExchange):  # answers are left that are not its own
                await connection.execute(sql("SELECT 3 AS three"))


async def test_more_than_fits_into_a_socket_passes_both_ways(engine: Engine) -> None:
    back, large = sql("SELECT CAST(:text AS text) AS text"), "x" * 20_000_000

    async with reading(engine) as connection:
        answers = await connection.ask(*[(back, {"text": large})] * 3)

    assert [rows.one().text == large for rows in answers] == [True] * 3


async def test_a_statement_that_is_not_run_says_nothing(engine: Engine) -> None:
    """The first failure is what is raised, and not that others were kept from running."""
    async with reading(engine) as connection:
        with pytest.raises(psycopg.Error) as caught:
            await connection.ask(
                (sql("SELECT 1"), {}), (sql("SELECT 1 / :zero"), {"zero": 0}), (sql("nonsense"), {})
            )

    assert caught.type is DivisionByZero


async def test_two_tasks_do_not_take_each_others_answers(engine: Engine) -> None:
    slow = sql("SELECT pg_sleep(0.3), :me AS me")

    async with reading(engine) as connection:
        first, second = await asyncio.gather(
            connection.execute(slow, {"me": 1}),
            connection.execute(slow, {"me": 2}),
            return_exceptions=True,
        )

    assert not isinstance(first, BaseException)
    assert first.one().me == 1
    assert isinstance(second, ConcurrentExchange)


async def test_what_is_found_wrong_at_the_end_of_a_statement_alone_is_raised(
    engine: Engine, database: Database
) -> None:
    with psycopg.connect(database.superuser_url, autocommit=True) as schema:
        schema.execute("CREATE TABLE settler.twin (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)")
        schema.execute("GRANT INSERT, SELECT ON settler.twin TO settler")
        try:
            with pytest.raises(UniqueViolation):
                await execute_alone(engine, sql("INSERT INTO settler.twin VALUES (1), (1)"))
            async with reading(engine) as connection:
                assert await connection.scalar(sql("SELECT count(*) FROM settler.twin")) == 0
        finally:
            schema.execute("DROP TABLE settler.twin")


async def test_what_waits_still_does_after_a_value_that_has_no_form(engine: Engine) -> None:
    add = sql("INSERT INTO note (thing) VALUES (:thing)")

    async with transaction(engine) as connection:
        connection.post(add, {"thing": "a"})
        with pytest.raises(psycopg.ProgrammingError):
            await connection.execute(sql("SELECT :odd"), {"odd": object()})
        await connection.execute(add, {"thing": "b"})

    async with reading(engine) as connection:
        assert await connection.scalars(sql("SELECT thing FROM note ORDER BY thing")) == ["a", "b"]
