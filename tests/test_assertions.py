"""Every test asserts something, itself or by a helper that it calls.

A function is looked up in its file, or in the file that it is imported from. Of a method only the
name is known: it asserts if every method of this name in the tests does. So a test is not found if
it calls a helper that asserts no more than what the test needs to begin.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pytest

ROOT: Final = Path(__file__).parents[1]
FOLDERS: Final = ("libs", "services", "cli", "sdk", "deploy", "tests", "tools")
OF_PYTEST: Final = frozenset({"raises", "warns", "fail"})
TELLING: Final = (ast.Assert, ast.Raise, ast.Call)
ANY_CLASS: Final = "a class"
Place = tuple[str, str]  # a file, or ANY_CLASS, and a name


class Function(NamedTuple):
    places: tuple[Place, ...]
    line: int
    asserts: bool  # itself
    calls: frozenset[Place]


def find_tests_without_assertion(root: Path) -> Sequence[str]:
    paths = [path for folder in FOLDERS for path in sorted((root / folder).rglob("*.py"))]
    trees = {
        str(path.relative_to(root)): ast.parse(path.read_text())
        for path in paths
        if not {"src", "node_modules"} & set(path.parts)
    }
    functions = [*_functions(trees)]
    asserting = _asserting(functions)
    return [
        f"{path}:{one.line} {name}"
        for one in functions
        for path, name in one.places[:1]
        if name.startswith("test_") and "/test_" in path
        if not (one.asserts or one.calls & asserting)
    ]


def _functions(trees: Mapping[str, ast.Module]) -> Iterator[Function]:
    errors = frozenset({"AssertionError", *(e for t in trees.values() for e in _errors(t))})
    files = {end: path for path in trees for end in _module_names(path)}
    for path, tree in trees.items():
        imported = {
            alias.asname or alias.name: (files[node.module], alias.name)
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and node.module in files
            for alias in node.names
        }
        for node, of_class in _definitions(tree):
            # Functions inside of it are its parts.
            parts = [part for part in ast.walk(node) if isinstance(part, TELLING)]
            called = [part.func for part in parts if isinstance(part, ast.Call)]
            calls = {
                imported.get(one.id, (path, one.id))
                if isinstance(one, ast.Name)
                else (ANY_CLASS, _name(one))
                for one in called
            }
            yield Function(
                ((path, node.name), *([(ANY_CLASS, node.name)] if of_class else [])),
                node.lineno,
                any(_is_assertion(part, errors) for part in parts),
                frozenset(calls),
            )


def _definitions(
    node: ast.Module | ast.ClassDef,
) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, bool]]:
    """Yield functions, and whether they are a class's."""
    for one in node.body:
        if isinstance(one, ast.ClassDef):
            yield from _definitions(one)
        elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            yield one, isinstance(node, ast.ClassDef)


def _module_names(path: str) -> Iterator[str]:
    """Yield the names by which a file may be imported: folders of tests may be on the path."""
    parts = path.removesuffix(".py").split("/")
    for first in range(len(parts)):
        yield ".".join(parts[first:])


def _errors(tree: ast.Module) -> Iterator[str]:
    """Yield the classes that derive from `AssertionError`."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and "AssertionError" in map(_name, node.bases):
            yield node.name


def _is_assertion(node: ast.AST, errors: frozenset[str]) -> bool:
    match node:
        case ast.Assert():
            return True
        case ast.Raise(exc=ast.Call(func=raised)) | ast.Raise(exc=ast.Name() as raised):
            return _name(raised) in errors
        case ast.Call(func=ast.Attribute(value=ast.Name(id="pytest"), attr=name)):
            return name in OF_PYTEST
    return False


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _asserting(functions: Sequence[Function]) -> frozenset[Place]:
    """Return the places at which every function asserts."""
    found: frozenset[Place] = frozenset()
    while True:
        asserting, others = set[Place](), set[Place]()
        for one in functions:
            (asserting if one.asserts or one.calls & found else others).update(one.places)
        if asserting - others == found:
            return found
        found = frozenset(asserting - others)


HELPERS: Final = """
class NotConforming(AssertionError): ...
class Answer:
    def refuses(self): raise NotConforming
async def paid(answer): await answer.refuses()
def settle(): ...
"""


@pytest.mark.parametrize(
    ("body", "is_found"),
    [
        ("assert value", False),
        ("with pytest.raises(ValueError): settle()", False),
        ("answer.refuses()", False),
        ("await paid(answer)", False),
        ("settle()", True),
        ("world.paid(answer)", True),
    ],
)
def test_test_without_an_assertion_is_found(tmp_path: Path, body: str, *, is_found: bool) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/helpers.py").write_text(HELPERS)
    imports = "from tests.helpers import paid, settle"
    (tmp_path / "tests/test_a.py").write_text(f"{imports}\nasync def test_b():\n    {body}\n")

    expected = ["tests/test_a.py:2 test_b"] if is_found else []
    assert find_tests_without_assertion(tmp_path) == expected


def test_every_test_asserts() -> None:
    assert find_tests_without_assertion(ROOT) == []
