from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum, StrEnum
from random import Random
from typing import Any, Final
from uuid import UUID

import psycopg
import pytest
from pydantic import SecretStr

from swap_runtime.postgres.arrays import ARRAYS
from swap_runtime.postgres.database import Engine, create_engine, reading
from swap_runtime.postgres.sql import Statement, sql
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected


@pytest.fixture
def url(database: Database) -> str:
    """No table is needed: a statement returns what it was given."""
    return database.url("settler")


class Word(StrEnum):
    YES = "yes"


class Number(IntEnum):
    ONE = 1


def of_psycopg(statement: Statement) -> Statement:
    """As a statement that does not say what its parameters are."""
    return statement._replace(arrays=())


def sent(type_: str) -> Statement:
    """Ask for an array as Postgres has it, so that no byte of what it is gets lost on the way."""
    return sql(f"SELECT array_send(CAST(:values AS {type_}[])) AS it", is_binary=True)


async def outcome(engine: Engine, statement: Statement, values: Any) -> Any:
    """Return what Postgres makes of it, or how it refuses."""
    async with reading(engine) as connection:
        try:
            return await connection.scalar(statement, {"values": values})
        except (psycopg.Error, TypeError, ValueError) as error:
            return type(error), str(error)


def a_text(random: Random) -> str:
    return "".join(random.choices("a\"\\{},é€\U0001f600 \n'%", k=random.choice([0, 1, 40])))


def an_integer(bits: int) -> Callable[[Random], int]:
    def value(random: Random) -> int:
        size = random.randint(1, bits - 1)
        return random.choice([random.getrandbits(size), -random.getrandbits(size) - 1])

    return value


def a_number(random: Random) -> str:
    return str(Decimal(random.getrandbits(256)).scaleb(-random.choice([0, 6, 18])))


def an_instant(random: Random) -> datetime:
    zone = timezone(timedelta(minutes=random.randint(-14 * 60, 14 * 60)))
    since = timedelta(days=random.randint(-300_000, 2_000_000), microseconds=random.getrandbits(36))
    return datetime(1900, 1, 1, tzinfo=zone) + since


def a_span(random: Random) -> timedelta:
    return timedelta(random.randint(-9999, 9999), random.getrandbits(16), random.getrandbits(19))


def some_json(random: Random) -> str:
    return random.choice(["{}", "null", '{"a": [1, "é"]}', '"x"'])


VALUES: Final[dict[str, Callable[[Random], Any]]] = {
    "bigint": an_integer(64),
    "bool": lambda random: random.random() < 0.5,
    "boolean": lambda random: random.random() < 0.5,
    "bytea": lambda random: random.randbytes(random.choice([0, 1, 32, 300])),
    "int": an_integer(32),
    "interval": a_span,
    "jsonb": some_json,
    "numeric": a_number,
    "text": a_text,
    "timestamptz": an_instant,
    "uuid": lambda random: UUID(int=random.getrandbits(128)),
}


def a_list(type_: str, random: Random) -> list[Any]:
    size, nulls = random.choice([0, 1, 2, 4, 50]), random.choice([0, 0, 0.3, 1])
    return [None if random.random() < nulls else VALUES[type_](random) for _ in range(size)]


@pytest.mark.parametrize("type_", ARRAYS)
async def test_what_arrives_is_what_psycopg_sends(engine: Engine, type_: str) -> None:
    random, statement = Random(type_), sent(type_)

    async with reading(engine) as connection:
        for _ in range(60):
            values = {"values": a_list(type_, random)}
            assert ARRAYS[type_].dump(values["values"]) is not None
            [[ours], [theirs]] = await connection.ask(
                (statement, values), (of_psycopg(statement), values)
            )
            assert ours == theirs, values


@pytest.mark.parametrize("type_", ["bigint", "boolean", "bytea", "int", "text", "uuid"])
async def test_what_arrives_is_what_was_given(engine: Engine, type_: str) -> None:
    random, statement = Random(type_), sql(f"SELECT CAST(:values AS {type_}[])", is_binary=True)

    for _ in range(20):
        values = a_list(type_, random)
        assert await outcome(engine, statement, values) == values


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        ("int", [1, 2**31]),
        ("int", [-(2**31) - 1]),
        ("bigint", [2**63]),
        ("bigint", [2**200]),
        ("int", [True]),
        ("bigint", [True]),
        ("int", [1, True]),
        ("int", [Number.ONE, 2]),
        ("bigint", ["1", None]),
        ("bigint", ["one"]),
        ("boolean", [1]),
        ("text", ["a\0b"]),
        ("text", ["\ud800"]),
        ("text", [1]),
        ("text", ["a", 1]),
        ("text", [Word.YES, "no", None]),
        ("text", [UUID(int=1)]),
        ("text", [b"a"]),
        ("text", [["a"], ["b"]]),
        ("text", ["a", ["b"]]),
        ("text", ("a", "b")),
        ("text", "{a,b}"),
        ("text", None),
        ("text", [object()]),
        ("numeric", [1, None]),
        ("numeric", [Decimal("1.5")]),
        ("numeric", ["many"]),
        ("jsonb", ["{"]),
        ("bytea", [bytearray(b"a"), None]),
        ("bytea", ["a"]),
        ("uuid", [str(UUID(int=1)), None]),
        ("uuid", ["one"]),
        ("timestamptz", [datetime(2026, 1, 1)]),  # noqa: DTZ001  # without a zone
        ("timestamptz", [datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC)]),  # noqa: DTZ001
        ("timestamptz", ["2026-01-01T00:00:00Z"]),
        ("interval", ["1 day"]),
        ("interval", [1]),
    ],
)
async def test_whatever_else_is_given_ends_as_it_does_with_psycopg(
    engine: Engine, type_: str, values: Any
) -> None:
    statement = sent(type_)

    ours = await outcome(engine, statement, values)

    assert ours == await outcome(engine, of_psycopg(statement), values)


async def test_a_list_beside_other_values_keeps_its_place(engine: Engine) -> None:
    statement = sql("""
SELECT :first AS first, CAST(:texts AS text[]) AS texts, :nothing AS nothing,
       CAST(:ids AS bigint[]) AS ids, CAST(:odd AS bigint[]) AS odd
""")
    values = {"first": "a", "texts": ["b"], "nothing": None, "ids": [2**40], "odd": ["7"]}

    async with reading(engine) as connection:
        [row] = await connection.execute(statement, values)

    assert tuple(row) == ("a", ["b"], None, [2**40], [7])


async def test_a_statement_is_prepared_once_whatever_its_columns_hold(engine: Engine) -> None:
    statement = sql("SELECT CAST(:n AS bigint[]) AS n, CAST(:at AS timestamptz[]) AS at")
    columns: list[tuple[list[int | None], list[datetime | None]]] = [
        ([1], [None]),
        ([2**15, None], [datetime(2026, 1, 1, tzinfo=UTC), None]),
        ([2**31], [None]),
        ([None], [None]),
        ([], []),
    ]
    prepared = sql("SELECT count(*) FROM pg_prepared_statements WHERE statement = :text")

    async with reading(engine) as connection:
        for n, at in columns:
            await connection.execute(statement, {"n": n, "at": at})

        assert await connection.scalar(prepared, {"text": statement.text}) == 1


async def test_text_is_text_whatever_clients_are_told_to_speak(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    engine = create_engine(SecretStr(url), application_name="test")
    try:
        found = await outcome(engine, sql("SELECT CAST(:values AS text[])"), ["é€"])
    finally:
        await engine.dispose()

    assert found == ["é€"]
