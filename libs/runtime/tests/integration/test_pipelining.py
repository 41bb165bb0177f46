"""The behaviour of `exchange` beyond the tests of a transaction."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest
from psycopg.errors import DataError, DivisionByZero, UniqueViolation

from swap_runtime.errors import Unavailable
from swap_runtime.postgres import connection_pool as module
from swap_runtime.postgres.database import (
    Engine,
    Question,
    TransactionAborted,
    execute_alone,
    reading,
    transaction,
)
from swap_runtime.postgres.sql import sql
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected
PREPARED = sql("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE :like")
OFTEN_ENOUGH = 6


class TestWhatIsPrepared:
    async def test_a_statement_is_prepared_once_it_was_executed_often_enough(
        self, engine: Engine
    ) -> None:
        often = sql("SELECT :value || 'often'")

        async with reading(engine) as connection:
            for _ in range(2 * OFTEN_ENOUGH):
                await connection.execute(often, {"value": "a"})
            await connection.execute(sql("SELECT :value || 'once'"), {"value": "a"})

            assert await connection.scalar(PREPARED, {"like": "%|| 'often'"}) == 1
            assert await connection.scalar(PREPARED, {"like": "%|| 'once'"}) == 0

    async def test_statement_skipped_by_a_failure_is_prepared_later(self, engine: Engine) -> None:
        fails, works = sql("SELECT 1 / :zero"), sql("SELECT :ten + 0 AS ten")

        for _ in range(2 * OFTEN_ENOUGH):
            async with reading(engine) as connection:
                with pytest.raises(DivisionByZero):
                    await connection.ask((fails, {"zero": 0}), (works, {"ten": 10}))
        async with reading(engine) as connection:
            for _ in range(2 * OFTEN_ENOUGH):
                [row] = await connection.execute(works, {"ten": 10})

        assert row.ten == 10

    @pytest.mark.parametrize("opens", [reading, transaction])
    async def test_statements_are_prepared_again_after_a_migration(
        self, engine: Engine, database: Database, opens: Any
    ) -> None:
        find = sql("SELECT shape FROM settler.changing")
        with psycopg.connect(database.superuser_url, autocommit=True) as migration:
            migration.execute("CREATE TABLE settler.changing AS SELECT 1 AS shape")
            migration.execute("GRANT SELECT ON settler.changing TO settler")
            try:
                async with opens(engine) as connection:
                    for _ in range(2 * OFTEN_ENOUGH):
                        assert await connection.scalar(find) == 1
                migration.execute("ALTER TABLE settler.changing ALTER shape TYPE text")

                with pytest.raises(Unavailable):  # so that it is retried
                    async with opens(engine) as connection:
                        await connection.scalar(find)

                async with opens(engine) as connection:
                    assert await connection.scalar(find) == "1"
            finally:
                migration.execute("DROP TABLE settler.changing")

    async def test_statement_due_for_preparation_at_a_failure_works_later(
        self, engine: Engine
    ) -> None:
        works, fails = sql("SELECT :n + 1 AS n"), sql("SELECT 1 / :zero AS n")

        for used in range(2 * OFTEN_ENOUGH):
            async with reading(engine) as connection:
                for _ in range(used):
                    await connection.execute(works, {"n": 1})
                with pytest.raises(DivisionByZero):
                    await connection.ask((fails, {"zero": 0}), (works, {"n": 1}))
            async with reading(engine) as connection:
                assert await connection.scalar(works, {"n": 1}) == 2

    async def test_extra_rows_of_a_service_are_evicted(
        self, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "PREPARED_MAX", 3)

        async with reading(engine) as connection:
            for n in range(10):
                for _ in range(2 * OFTEN_ENOUGH):
                    assert await connection.scalar(sql(f"SELECT {n} + :n"), {"n": n}) == 2 * n

            assert await connection.scalar(PREPARED, {"like": "SELECT %"}) <= 3 + 1


class TestRows:
    async def test_a_value_without_a_name_is_found_by_its_place(self, engine: Engine) -> None:
        async with reading(engine) as connection:
            [row] = await connection.execute(sql("SELECT 1, true AS yes"))

        assert (row[0], row.yes) == (1, True)

    async def test_two_columns_of_one_name_are_refused(self, engine: Engine) -> None:
        twice = sql("SELECT 1 AS same, 2 AS same")

        async with reading(engine) as connection:
            with pytest.raises(DataError, match="same"):
                await connection.execute(twice)
            with pytest.raises(DataError, match="same"):
                await connection.ask((twice, {}), (twice, {}))


async def test_more_than_fits_into_a_socket_passes_both_ways(engine: Engine) -> None:
    back, large = sql("SELECT CAST(:text AS text) AS text"), "x" * 20_000_000

    async with reading(engine) as connection:
        answers = await connection.ask(*[(back, {"text": large})] * 3)

    assert [rows.one().text == large for rows in answers] == [True] * 3


async def test_a_statement_that_is_not_run_raises_no_error(engine: Engine) -> None:
    """The first failure is raised, not that of statements that it prevented."""
    async with reading(engine) as connection:
        with pytest.raises(psycopg.Error) as caught:
            await connection.ask(
                (sql("SELECT 1"), {}), (sql("SELECT 1 / :zero"), {"zero": 0}), (sql("nonsense"), {})
            )

    assert caught.type is DivisionByZero


@pytest.mark.parametrize("position", range(5))
async def test_the_first_failure_is_raised_wherever_it_is(engine: Engine, position: int) -> None:
    works, fails = (sql("SELECT 1"), {}), (sql("SELECT 1 / :zero"), {"zero": 0})
    later = (sql("SELECT nonsense"), {})
    slow = (sql("SELECT pg_sleep(0.01)"), {})

    async def post(questions: list[Question]) -> None:
        async with transaction(engine) as connection:
            for statement, values in questions:
                connection.post(statement, values)

    for questions in (
        [works] * position + [fails] + [later] * (4 - position),
        [slow] * position + [fails] + [works] * (4 - position),
    ):
        with pytest.raises(DivisionByZero):
            async with transaction(engine) as connection:
                await connection.ask(*questions)
        with pytest.raises(DivisionByZero):
            await post(questions)


async def test_two_tasks_do_not_take_each_others_answers(engine: Engine) -> None:
    slow = sql("SELECT pg_sleep(0.1), :me AS me")

    async with reading(engine) as connection:
        first, second = await asyncio.gather(
            connection.execute(slow, {"me": 1}), connection.execute(slow, {"me": 2})
        )

    assert (first.one().me, second.one().me) == (1, 2)


async def test_deferred_violation_of_a_lone_statement_is_raised(
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


async def test_a_value_that_has_no_form_undoes_the_transaction(engine: Engine) -> None:
    add = sql("INSERT INTO note (thing) VALUES (:thing)")

    async def proceed() -> None:
        async with transaction(engine) as connection:
            connection.post(add, {"thing": "a"})
            with pytest.raises(psycopg.ProgrammingError):
                await connection.execute(sql("SELECT :odd"), {"odd": object()})

    with pytest.raises(TransactionAborted):
        await proceed()

    async with reading(engine) as connection:
        assert await connection.scalars(sql("SELECT thing FROM note")) == []
