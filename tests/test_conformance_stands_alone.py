"""The conformance suite knows the specification and nothing of this service."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.conformance import tables
from tests.conformance.shapes import is_known

SUITE = Path(__file__).parent / "conformance"
OTHERS = {"pytest", "httpx", "eth_account", "eth_utils"}


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." if node.level else str(node.module)


def is_outside(name: str) -> bool:
    is_of_the_suite = name == "tests.conformance" or name.startswith("tests.conformance.")
    return is_of_the_suite or name.partition(".")[0] in OTHERS | sys.stdlib_module_names


def test_the_suite_imports_nothing_of_the_project() -> None:
    used = {name for path in SUITE.rglob("*.py") for name in imports_of(path)}

    assert {name for name in used if not is_outside(name)} == set()


def test_every_rule_has_a_test_and_every_test_a_rule() -> None:
    carried = Counter(
        tuple(ast.literal_eval(argument) for argument in call.args)
        for path in SUITE.glob("test_*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call)
        and ast.unparse(call.func) in ("rule", "pytest.mark.rule")
        and all(isinstance(argument, ast.Constant) for argument in call.args)
    )

    assert set(tables.rules()) - set(carried) == set()
    assert set(carried) - set(tables.rules()) == set()


def test_every_type_of_the_tables_is_one() -> None:
    assert {field.type for field in tables.fields() if not is_known(field.type)} == set()
    assert {f.model for f in tables.fields()} == set(tables.models())
    told = {endpoint.data for endpoint in tables.endpoints()} - {"-"}
    assert {kind for kind in told if not is_known(kind)} == set()


def test_no_line_stands_twice_in_a_table() -> None:
    fields = Counter((field.model, field.name) for field in tables.fields())
    endpoints = Counter((endpoint.method, endpoint.path) for endpoint in tables.endpoints())

    assert max(fields.values()) == max(endpoints.values()) == 1


def test_every_refusal_has_the_status_of_its_code() -> None:
    for row in tables.refusals():
        assert tables.codes()[row.code] == row.status, row.situation
