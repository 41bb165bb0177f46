"""Squawk finds no migration since the release that stops the version that runs beside it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from tests.test_migration_locks import REVISIONS, since_the_release, statements_of

SQUAWK: Final = Path(sys.executable).with_name("squawk")
POSTGRES: Final = "18"
# Rules that other parts of the project take care of.
EXCLUDED: Final[Mapping[str, str]] = {
    "require-lock-timeout": "the connection of swap_runtime.postgres.migrate sets it",
    "require-statement-timeout": "the connection of swap_runtime.postgres.migrate sets it",
    "require-concurrent-index-creation": "a revision is one transaction, and an index has its own",
    "require-concurrent-index-deletion": "a revision is one transaction",
    "constraint-missing-not-valid": "test_migration_locks.py knows the small and the new tables",
    "ban-drop-constraint": "test_migrations_expand.py runs the release's statements afterwards",
    "ban-drop-not-null": "test_migrations_expand.py runs the release's statements afterwards",
    "prefer-bigint-over-int": "counts and states, and no ids",
    "prefer-bigint-over-smallint": "counts and states, and no ids",
}


def findings(files: Sequence[Path]) -> list[str]:
    """Return what Squawk finds, a line for each."""
    excluded = [f"--exclude={rule}" for rule in EXCLUDED]
    options = ["--assume-in-transaction", f"--pg-version={POSTGRES}", "--reporter=json"]
    command = [str(SQUAWK), *options, *excluded, *map(str, files)]
    answer = subprocess.run(command, check=False, capture_output=True, text=True)
    assert answer.stdout, answer.stderr
    return [
        f"{Path(one['file']).stem}: {one['rule_name']}: {one['message']}"
        for one in json.loads(answer.stdout)
    ]


@pytest.mark.parametrize("service", sorted(REVISIONS))
def test_no_migration_since_the_release_has_a_finding(service: str, tmp_path: Path) -> None:
    files = []
    for path in since_the_release(service):
        files.append(tmp_path / f"{path.stem}.sql")
        files[-1].write_text(";\n".join(one.strip() for one in statements_of(path)) + ";\n")

    assert files
    assert findings(files) == []


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("ALTER TABLE swap DROP COLUMN status", "ban-drop-column"),
        ("ALTER TABLE swap RENAME COLUMN status TO state", "renaming-column"),
        ("ALTER TABLE swap RENAME TO swaps", "renaming-table"),
        ("ALTER TABLE swap ALTER COLUMN status TYPE int", "changing-column-type"),
        ("ALTER TABLE swap ADD COLUMN x text NOT NULL", "adding-required-field"),
        ("ALTER TABLE swap ALTER COLUMN x SET NOT NULL", "adding-not-nullable-field"),
        ("DROP TABLE swap", "ban-drop-table"),
    ],
)
def test_such_a_migration_is_found(statement: str, rule: str, tmp_path: Path) -> None:
    file = tmp_path / "0001_wrong.sql"
    file.write_text(f"{statement};\n")

    assert rule in "\n".join(findings([file]))
