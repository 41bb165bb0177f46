"""A migration since the release reads no large table while it holds an exclusive lock on it.

A revision is one transaction, so a lock of `ALTER TABLE` is held until the revision ends.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).parents[1]
REVISIONS: Final[dict[str, str]] = tomllib.loads(
    (ROOT / "tests/released_revisions.toml").read_text()
)["revisions"]
# One row per network, and messages for an operator.
SMALL: Final = frozenset({"watch_cursor", "parked"})
ALTERED: Final = re.compile(r"ALTER TABLE (\w+)")
CREATED: Final = re.compile(r"CREATE TABLE (\w+)")
INDEXED: Final = re.compile(r"CREATE (?:UNIQUE )?INDEX \w+\s+ON (\w+)")
READS: Final = re.compile(r"\b(CHECK|REFERENCES)\b")
UNCHECKED: Final = re.compile(r"ADD CONSTRAINT (\w+)\s[^;]*?NOT VALID")
VALIDATED: Final = re.compile(r"VALIDATE CONSTRAINT (\w+)")


class Recorder:
    """Replaces Alembic's `op`."""

    def __init__(self) -> None:
        self.statements: list[str] = []

    def execute(self, text: str) -> None:
        self.statements += text.split(";")


def statements_of(path: Path) -> Sequence[str]:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    revision: Any = module_from_spec(spec)
    spec.loader.exec_module(revision)
    revision.op = Recorder()
    revision.upgrade()
    statements: list[str] = revision.op.statements
    return statements


def since_the_release(service: str) -> list[Path]:
    versions = (ROOT / "services" / service / "migrations/versions").glob("*.py")
    return sorted(path for path in versions if path.name[:4] > REVISIONS[service])


def reads_under_lock(statements: Sequence[str]) -> Iterator[str]:
    """Yield each statement that reads a whole large table while it blocks its readers."""
    text = ";".join(statements)
    free = SMALL | set(CREATED.findall(text))
    altered = set(ALTERED.findall(text)) - free
    for statement in statements:
        of_table, of_index = ALTERED.search(statement), INDEXED.search(statement)
        adds = READS.search(statement) and "NOT VALID" not in statement
        if of_table and of_table[1] in altered and adds:
            yield statement.strip()
        if of_index and of_index[1] in altered:
            yield statement.strip()


@pytest.mark.parametrize("service", sorted(REVISIONS))
def test_no_migration_reads_a_large_table_that_it_has_locked(service: str) -> None:
    found = {
        path.name: [*reads_under_lock(statements_of(path))] for path in since_the_release(service)
    }
    assert {name: reads for name, reads in found.items() if reads} == {}


@pytest.mark.parametrize("service", sorted(REVISIONS))
def test_each_check_that_is_not_valid_is_validated_by_a_later_revision(service: str) -> None:
    waiting: set[str] = set()
    for path in since_the_release(service):
        text = ";".join(statements_of(path))
        waiting = waiting - set(VALIDATED.findall(text)) | set(UNCHECKED.findall(text))
    assert waiting == set()


@pytest.mark.parametrize(
    "statements",
    [
        ["ALTER TABLE intent ADD x int CHECK (x > 0)"],
        ["ALTER TABLE intent ADD x uuid REFERENCES swap"],
        ["ALTER TABLE intent ADD x int", "CREATE INDEX by_x ON intent (x)"],
    ],
)
def test_such_a_migration_is_found(statements: Sequence[str]) -> None:
    assert len([*reads_under_lock(statements)]) == 1
