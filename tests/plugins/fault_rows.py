"""The rows of `tests/fault_rows.toml`, and their tests.

A Python test has the marker `@pytest.mark.fault("S4")`; a Foundry test has the row in its name
(`test_G16_…`). `pytest --fault S4` runs the Python tests of one row.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, TypeGuard

import pytest

ROOT: Final = Path(__file__).parents[2]
ROWS_FILE: Final = "tests/fault_rows.toml"
PYTHON_TESTS: Final = ("libs", "services", "cli", "sdk", "deploy", "tools", "tests")
FOUNDRY_TESTS: Final = "evm/test"
NOT_COLLECTED: Final = frozenset({"conformance", "node_modules"})
MARK: Final = "pytest.mark.fault"
FOUNDRY_NAME: Final = re.compile(r"function ((?:test|testFuzz|invariant)_([A-Z]\d+)_\w+)\(")


@dataclass(frozen=True, slots=True)
class Row:
    """One fault. `guard` is the code whose removal made the row's test fail."""

    fault: str
    holds: str
    guard: str | None = None
    cannot_apply: str | None = None


@dataclass(frozen=True, slots=True)
class Carrier:
    """A test with the marker of a row, or a marker (`test` is None) without a test."""

    row: str
    path: str
    test: str | None


@cache
def rows() -> Mapping[str, Row]:
    """Return every row by its id, in the order of the file."""
    read = tomllib.loads((ROOT / ROWS_FILE).read_text())
    return {name: Row(**members) for name, members in read.items()}


def carriers(root: Path = ROOT) -> Sequence[Carrier]:
    """Return every marker and every Foundry name in a tree, without importing a test."""
    found: list[Carrier] = []
    for folder in PYTHON_TESTS:
        for path in sorted((root / folder).rglob("test_*.py")):
            text = path.read_text()
            if "mark.fault" in text and not NOT_COLLECTED & set(path.relative_to(root).parts):
                found += _carriers_of(str(path.relative_to(root)), ast.parse(text))
    for path in sorted((root / FOUNDRY_TESTS).rglob("*.t.sol")):
        relative = str(path.relative_to(root))
        found += [Carrier(m[2], relative, m[1]) for m in FOUNDRY_NAME.finditer(path.read_text())]
    return found


def _carriers_of(path: str, module: ast.Module) -> Iterator[Carrier]:
    carried: dict[ast.Call, str] = {}
    for test, decorators in _tests(module):
        for decorator in decorators:
            # A decorator is a marker, or a `parametrize` with markers inside.
            carried |= {mark: test for mark in _marks(decorator)}
    for mark in _marks(module):
        for argument in mark.args:
            row = argument.value if isinstance(argument, ast.Constant) else ast.unparse(argument)
            yield Carrier(str(row), path, carried.get(mark))


def _tests(module: ast.Module) -> Iterator[tuple[str, Sequence[ast.expr]]]:
    """Yield each test and test class that pytest collects, with its decorators."""
    for node in module.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            yield "every test", [node.value]
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield node.name, node.decorator_list
            for member in node.body:
                if _is_test(member):
                    yield f"{node.name}.{member.name}", member.decorator_list
        elif _is_test(node):
            yield node.name, node.decorator_list


def _is_test(node: ast.stmt) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith(
        "test_"
    )


def _marks(within: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(within):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == MARK:
            yield node


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fault", metavar="ROW", help=f"run the tests of a row of {ROWS_FILE}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    row = config.getoption("--fault")
    if row is None:
        return
    if row not in rows():
        raise pytest.UsageError(f"{ROWS_FILE} has no row {row}")
    others = [item for item in items if not any(row in m.args for m in item.iter_markers("fault"))]
    items[:] = [item for item in items if item not in others]
    config.hook.pytest_deselected(items=others)
