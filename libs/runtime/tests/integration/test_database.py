from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import psycopg
import pytest
from psycopg.errors import IntegrityError, ProgrammingError
from pydantic import SecretStr

from swap_runtime.errors import Unavailable
from swap_runtime.postgres.database import (
    Engine,
    TransactionAborted,
    TransactionOpen,
    create_engine,
    execute_alone,
    forbid_open_transaction,
    ping,
    reading,
    transaction,
)
from swap_runtime.postgres.sql import sql
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected
BACKEND = "SELECT pg_backend_pid()"
END_ALL_OTHERS = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
WHERE usename = 'settler' AND pid <> pg_backend_pid()
"""


def end_connections(database: Database) -> None:
    with psycopg.connect(database.superuser_url) as connection:
        connection.execute(END_ALL_OTHERS)


class TestAStatementAlone:
    async def test_is_committed_in_one_round_trip(self, engine: Engine) -> None:
        statements: list[str] = []
        engine.statement_listener = statements.append
        try:
            rows = await execute_alone(
                engine, sql("INSERT INTO note (thing) VALUES ('x') RETURNING thing")
            )
        finally:
            engine.statement_listener = None

        assert [row.thing for row in rows] == ["x"]
        assert statements[1:] == ["COMMIT"]
        async with reading(engine) as connection:
            assert await connection.scalar(sql("SELECT count(*) FROM note")) == 1

    async def test_is_atomic(self, engine: Engine) -> None:
        fails = sql(
            "INSERT INTO note (thing) SELECT 'x' FROM generate_series(0, 1) n WHERE 1 / n > 0"
        )

        with pytest.raises(psycopg.errors.DivisionByZero):
            await execute_alone(engine, fails)

        async with reading(engine) as connection:
            assert await connection.scalar(sql("SELECT count(*) FROM note")) == 0

    @pytest.mark.fault("K9")
    async def test_k9_a_connection_lost_meanwhile_is_unavailable(
        self, engine: Engine, database: Database
    ) -> None:
        ends_itself = sql("SELECT pg_terminate_backend(pg_backend_pid())")

        with pytest.raises(Unavailable):
            await execute_alone(engine, ends_itself)

        await ping(engine)


class TestTransaction:
    async def test_is_atomic(self, engine: Engine) -> None:
        async def fail() -> None:
            async with transaction(engine) as connection:
                await connection.execute(sql("INSERT INTO note (thing) VALUES ('x')"))
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await fail()

        async with reading(engine) as connection:
            assert await connection.scalar(sql("SELECT count(*) FROM note")) == 0

    async def test_whose_failed_statement_was_caught_is_not_called_committed(
        self, engine: Engine
    ) -> None:
        async def proceed() -> None:
            async with transaction(engine) as connection:
                await connection.execute(sql("INSERT INTO note (thing) VALUES ('x')"))
                with suppress(ProgrammingError):
                    await connection.execute("SELECT nonsense")

        with pytest.raises(TransactionAborted):
            await proceed()

        async with reading(engine) as connection:
            assert await connection.scalar("SELECT count(*) FROM note") == 0

    @pytest.mark.fault("K9")
    async def test_k9_a_connection_lost_inside_is_unavailable(
        self, engine: Engine, database: Database
    ) -> None:
        async def lose_connection() -> None:
            async with transaction(engine) as connection:
                await connection.execute(sql("SELECT 1"))
                end_connections(database)
                await connection.execute(sql("SELECT 1"))

        with pytest.raises(Unavailable):
            await lose_connection()

    async def test_a_connection_closed_while_idle_is_replaced_without_an_error(
        self, engine: Engine, database: Database
    ) -> None:
        async with reading(engine) as connection:
            closed = await connection.scalar(BACKEND)
        end_connections(database)

        await ping(engine)

        async with reading(engine) as connection:
            assert await connection.scalar(BACKEND) != closed

    @pytest.mark.fault("P4")
    async def test_p4_a_deadlock_is_unavailable(self, engine: Engine) -> None:
        async def lock(*keys: int) -> None:
            async with transaction(engine) as connection:
                for key in keys:
                    await connection.execute(sql(f"SELECT pg_advisory_xact_lock({key})"))
                    await asyncio.sleep(0.2)

        results = await asyncio.gather(lock(1, 2), lock(2, 1), return_exceptions=True)

        assert [type(result) for result in results if result is not None] == [Unavailable]

    @pytest.mark.fault("P8")
    async def test_p8_an_exhausted_pool_is_unavailable(self, url: str) -> None:
        engine = create_engine(
            SecretStr(url),
            application_name="test",
            pool_size=1,
            pool_timeout=timedelta(milliseconds=50),
        )
        async with transaction(engine):
            with pytest.raises(Unavailable):
                await ping(engine)
        await engine.dispose()

    async def test_what_the_statement_itself_did_wrong_is_not(self, engine: Engine) -> None:
        with pytest.raises(IntegrityError):
            async with transaction(engine) as connection:
                await connection.execute(
                    sql("INSERT INTO watermark (consumer, source) VALUES ('a', 'b')")
                )

    async def test_an_error_does_not_contain_the_values_of_a_statement(
        self, engine: Engine
    ) -> None:
        with pytest.raises(ProgrammingError) as caught:
            async with transaction(engine) as connection:
                await connection.execute(
                    sql("INSERT INTO nowhere VALUES (:secret)"), {"secret": "whsec_private"}
                )

        assert "nowhere" in str(caught.value)
        assert "whsec_private" not in str(caught.value)

    async def test_a_server_that_is_not_there_is_unavailable(self) -> None:
        nowhere = SecretStr("postgresql+psycopg://nobody@127.0.0.1:1/none")

        with pytest.raises(Unavailable):
            await ping(create_engine(nowhere, application_name="test"))

    @pytest.mark.fault("P2")
    async def test_p2_a_cancelled_statement_leaves_no_broken_connection(self, url: str) -> None:
        engine = create_engine(SecretStr(url), application_name="test", pool_size=1)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2), transaction(engine) as connection:
                await connection.execute(sql("SELECT pg_sleep(10)"))

        await ping(engine)
        await engine.dispose()


ADD = sql("INSERT INTO note (thing) VALUES (:thing)")
COUNT = sql("SELECT count(*) AS n FROM note")


class TestWhatLeavesTogether:
    async def test_begin_leaves_with_the_first_statement_and_writes_with_commit(
        self, engine: Engine, round_trips: list[int]
    ) -> None:
        async with transaction(engine) as connection:
            assert await connection.scalar(COUNT) == 0
            for thing in "abc":
                connection.post(ADD, {"thing": thing})

        assert round_trips == [1 + 1, 3 + 1]
        async with reading(engine) as connection:
            assert await connection.scalar(COUNT) == 3

    async def test_query_sees_statements_posted_before_it(
        self, engine: Engine, round_trips: list[int]
    ) -> None:
        async with transaction(engine) as connection:
            connection.post(ADD, {"thing": "a"})
            [[one], [thing]] = await connection.ask(
                (COUNT, {}), (sql("SELECT thing FROM note"), {})
            )

        assert (one.n, thing.thing) == (1, "a")
        assert round_trips == [4, 1]

    async def test_how_much_was_written_is_known_once_it_has_left(
        self, engine: Engine, round_trips: list[int]
    ) -> None:
        async with transaction(engine) as connection:
            early = [connection.post(ADD, {"thing": thing}) for thing in "abc"]
            await connection.scalar(COUNT)
            all_of_them = connection.post(sql("UPDATE note SET version = 1"))
            none = connection.post(sql("DELETE FROM note WHERE thing = 'x'"))
            with pytest.raises(AssertionError):
                _ = none.changed

        assert [each.changed for each in (*early, all_of_them, none)] == [1, 1, 1, 3, 0]
        assert round_trips == [1 + 3 + 1, 2 + 1]

    async def test_a_transaction_without_statements_does_not_begin(
        self, engine: Engine, round_trips: list[int]
    ) -> None:
        async with transaction(engine):
            pass

        assert round_trips == []

    @pytest.mark.parametrize("asks", [True, False], ids=["asking", "committing"])
    async def test_error_of_a_posted_statement_is_raised_and_rolls_back(
        self, engine: Engine, *, asks: bool
    ) -> None:
        async def post_wrongly() -> None:
            async with transaction(engine) as connection:
                connection.post(ADD, {"thing": "a"})
                connection.post(sql("SELECT 1 / :zero"), {"zero": 0})
                connection.post(ADD, {"thing": "b"})
                if asks:
                    await connection.ask((COUNT, {}), (COUNT, {}))

        with pytest.raises(psycopg.errors.DivisionByZero):
            await post_wrongly()

        async with reading(engine) as connection:
            assert await connection.scalar(COUNT) == 0

    async def test_queued_changes_are_dropped_with_their_transaction(self, engine: Engine) -> None:
        async def fail() -> None:
            async with transaction(engine) as connection:
                connection.post(ADD, {"thing": "a"})
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await fail()

        async with reading(engine) as connection:
            assert await connection.scalar(COUNT) == 0

    @pytest.mark.parametrize("has_left", [False, True], ids=["waiting", "written"])
    @pytest.mark.fault("K9")
    async def test_k9_connection_lost_before_commit_rolls_posted_statements_back(
        self, engine: Engine, database: Database, *, has_left: bool
    ) -> None:
        async def lose_connection() -> None:
            async with transaction(engine) as connection:
                await connection.execute(COUNT)
                connection.post(ADD, {"thing": "a"})
                if has_left:
                    assert await connection.scalar(COUNT) == 1
                end_connections(database)

        with pytest.raises(Unavailable):
            await lose_connection()

        async with reading(engine) as connection:
            assert await connection.scalar(COUNT) == 0

    @pytest.mark.fault("P2")
    async def test_p2_a_cancelled_round_trip_of_several_leaves_no_broken_connection(
        self, url: str
    ) -> None:
        engine = create_engine(SecretStr(url), application_name="test", pool_size=1)

        async def hang() -> None:
            async with asyncio.timeout(0.2), transaction(engine) as connection:
                connection.post(ADD, {"thing": "a"})
                await connection.execute(sql("SELECT pg_sleep(10)"))

        with pytest.raises(TimeoutError):
            await hang()

        async with transaction(engine) as connection:
            assert await connection.scalar(COUNT) == 0
        await engine.dispose()


class TestForbidOpenTransaction:
    @pytest.mark.fault("P10")
    async def test_p10_refuses_to_call_out_inside_a_transaction(self, engine: Engine) -> None:
        async with transaction(engine):
            with pytest.raises(TransactionOpen, match="rpc"):
                forbid_open_transaction("rpc")

        forbid_open_transaction("rpc")

    async def test_a_task_started_inside_may_call_out_afterwards(self, engine: Engine) -> None:
        ended = asyncio.Event()

        async def notify_meanwhile() -> str:
            await ended.wait()
            forbid_open_transaction("rpc")
            return "called"

        async with transaction(engine):
            task = asyncio.create_task(notify_meanwhile())
        ended.set()

        assert await task == "called"


class TestPlans:
    async def test_are_kept_for_more_statements_than_any_service_has(self, engine: Engine) -> None:
        statements = [sql(f"SELECT :number + {number}") for number in range(300)]
        prepared_count = "SELECT count(*) FROM pg_prepared_statements"

        async with reading(engine) as connection:
            for _ in range(6):
                for statement in statements:
                    await connection.execute(statement, {"number": 1})
            assert await connection.scalar(prepared_count) == len(statements)

    async def test_of_what_is_only_text_are_not_kept(self, engine: Engine) -> None:
        async with reading(engine) as connection:
            for _ in range(10):
                await connection.execute("SELECT 1 + 1")
            prepared_count = await connection.scalar("SELECT count(*) FROM pg_prepared_statements")

        assert prepared_count == 0


class TestRows:
    async def test_have_the_types_that_services_read(self, engine: Engine) -> None:
        text = """
        SELECT CAST('6f0e7a52-5a07-4d5a-9f0e-0f5b7b2a9c11' AS uuid) AS id,
               CAST('2026-01-02T03:04:05.678901Z' AS timestamptz) AS at,
               convert_to(:text, 'UTF8') AS document, CAST(:text AS text) AS text,
               CAST(NULL AS text) AS nothing, CAST(12 AS bigint) AS number, true AS flag,
               CAST('1e40' AS numeric) AS amount, CAST('{"a": [1]}' AS jsonb) AS object,
               CAST('1 day 2 s' AS interval) AS span, CAST('2026-01-02' AS date) AS day
        """
        values = {"text": 'a "quoted" \\ backslash, a tab\t and 100 % of Größe'}

        async with transaction(engine) as connection:
            row = (await connection.execute(sql(text), values)).one()

        assert row == (
            UUID("6f0e7a52-5a07-4d5a-9f0e-0f5b7b2a9c11"),
            datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
            values["text"].encode(),
            values["text"],
            None,
            12,
            True,
            Decimal(10**40),
            {"a": [1]},
            timedelta(days=1, seconds=2),
            date(2026, 1, 2),
        )


class TestArrays:
    async def test_arrive_as_they_were_whatever_is_in_them(self, engine: Engine) -> None:
        values = {
            "words": ['a "quoted" \\ word', "", "NULL", "{,}", None],
            "bodies": [b"\x00\xff", b"", None],
            "numbers": [1, 2**40, None],
            "nothing": [None, None],
            "digits": [
                "115792089237316195423570985008687907853269984665640564039457584007913129639935"
            ],
        }
        statement = sql("""
SELECT CAST(:words AS text[]), CAST(:bodies AS bytea[]), CAST(:numbers AS bigint[]),
       CAST(:nothing AS timestamptz[]), CAST(:digits AS numeric[])
""")

        async with reading(engine) as connection:
            row = (await connection.execute(statement, values)).one()

        *lists, digits = row
        assert lists == [values["words"], values["bodies"], values["numbers"], values["nothing"]]
        assert [str(number) for number in digits] == values["digits"]
